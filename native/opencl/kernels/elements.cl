// SPDX-License-Identifier: Apache-2.0
// Products read their operands by these macros. Build options: VECTOR, the number of elements that are read as one, 4
// or 1; ELEMENT, the type of B's elements in memory; VALUE(p, i), element i as a float; VALUES(p), four floats from `p`
// on, which is aligned to them.

#define JOIN(a, b) JOIN_NOW(a, b)
#define JOIN_NOW(a, b) a##b

typedef __global const float4* Floats4;
typedef __global const ushort4* Shorts4;

#if VECTOR == 4
typedef float4 Vector;
#define A_VECTOR(p) (*(Floats4)(p))
#define B_VECTOR(p) (VALUES(p))
#else
typedef float Vector;
#define A_VECTOR(p) (*(p))
#define B_VECTOR(p) (VALUE(p, 0))
#endif
