# SPDX-License-Identifier: Apache-2.0
"""Collects the sources of all libraries that the build needs, for a GPU machine that has no network. They come from the
source packages of Debian, through an apt of its own that leaves the system's settings as they are. OpenCL's
headers and loader are not among them, since such a machine has them with its driver."""
import glob
import pathlib
import shutil
import subprocess
import sys
import tempfile

SUITES = ["trixie", "bookworm"]  # a mirror may lack what a suite lists; the older one is new enough, too
# Each library of core/cmake/Dependencies.cmake with its source package, and the part of it that the build needs.
LIBRARIES = {
    "highway": ("highway", "*"), "eigen": ("eigen3", "*/Eigen"), "nlohmann-json": ("nlohmann-json3", "*/include"),
    "doctest": ("doctest", "*/doctest"), "cli11": ("cli11", "*/include"), "benchmark": ("benchmark", "*"),
    "zlib": ("zlib", "*"), "png": ("libpng1.6", "*"), "pcre2": ("pcre2", "*"), "utf8proc": ("utf8proc", "*")}
UNUSED = ["testdata", "doc", "docs", "contrib", "projects", "data", "autom4te.cache"]


def private_apt(folder):
    """Returns the words that run apt-get with the system's mirror and keys, and with the suites' source packages."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)",
             "Created-By: Packages", "Label: Debian", "Component: main"]
    mirrors = subprocess.run(asked, text=True, capture_output=True).stdout.split() if shutil.which("apt-get") else []
    keys = sorted(glob.glob("/usr/share/keyrings/debian-archive-keyring.*"))
    if not mirrors or not keys:
        sys.exit("the step pack works on Debian, after apt-get update")
    (folder / "lists" / "partial").mkdir(parents=True)
    lines = [f"deb-src [signed-by={keys[0]}] {mirrors[0]} {suite} main\n" for suite in SUITES]
    (folder / "sources.list").write_text("".join(lines))
    settings = {"Dir::Etc::SourceList": folder / "sources.list", "Dir::Etc::SourceParts": "/nonexistent",
                "Dir::State::Lists": folder / "lists", "Dir::Cache": folder, "APT::Sandbox::User": "root",
                "Acquire::Languages": "none", "Acquire::Retries": 3}
    return ["apt-get", "-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]


def download(apt, package, folder):
    """Returns the file with the package's source as its authors released it; apt checks it."""
    folder.mkdir()
    for suite in SUITES:
        words = [*apt, "source", "--only-source", "--tar-only", "--download-only", f"{package}/{suite}"]
        if subprocess.run(words, cwd=folder).returncode == 0:
            (archive,) = folder.glob("*.orig.tar.*[!c]")  # a signature ends with .asc
            return archive
    sys.exit(f"no suite has the source of {package}")


def unpack(archive, folder, part):
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", folder, "--strip-components=1", *(f"--exclude={name}" for name in UNUSED),
                    "--wildcards", "--no-wildcards-match-slash", "-f", archive, part], check=True)


def pack(to):
    """Fills the folder `to`, from which the build takes the libraries when HEADLENS_TOOLCHAIN names it."""
    part = to.with_name(to.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        apt = private_apt(folder)
        subprocess.run([*apt, "update"], check=True)
        for library, (package, wanted) in LIBRARIES.items():
            unpack(download(apt, package, folder / library), part / "src" / library, wanted)
    # Debian takes out a file for Windows, which zlib's CMake project wants to see on every system.
    (part / "src" / "zlib" / "win32").mkdir(exist_ok=True)
    (part / "src" / "zlib" / "win32" / "zlib1.rc").touch()
    shutil.rmtree(to, ignore_errors=True)
    part.rename(to)
