// SPDX-License-Identifier: Apache-2.0
/// Limits on the program's memory.
#ifndef HEADLENS_NATIVE_CLI_MEMORY_H_
#define HEADLENS_NATIVE_CLI_MEMORY_H_

namespace headlens::cli {

/// Limits the program to this machine's memory. A small file can ask for maps of any size; too large an allocation then
/// fails with an error message instead of ending other programs.
void LimitMemory();

/// Limits memory instead of addresses from now on, since a GPU's driver reserves more addresses than there is memory.
/// On systems that cannot count memory, this removes the limit.
void MakeRoomForDrivers();

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MEMORY_H_
