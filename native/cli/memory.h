// SPDX-License-Identifier: Apache-2.0
/// How much memory the program takes.
#ifndef HEADLENS_NATIVE_CLI_MEMORY_H_
#define HEADLENS_NATIVE_CLI_MEMORY_H_

namespace headlens::cli {

/// A small file can ask for maps of any size. What exceeds this machine's memory then fails as an allocation, with a
/// message, and ends no other program.
void LimitMemory();

/// A GPU's driver reserves more addresses than there is memory. From now on the limit counts memory alone; where the
/// system cannot count that, there is none.
void MakeRoomForDrivers();

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MEMORY_H_
