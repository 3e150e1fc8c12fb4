"""Conan recipe: `conan create packaging/conan`, in a checkout or in the archive of the sources that ./run package makes.

What softcheck is built from comes from the system's package manager, not from ConanCenter, which has no MPFI: an MPFR of
Conan's beside the system's MPFI would be two libraries of one name in a program. Conan checks that the packages are there;
`-c tools.system.package_manager:mode=install` (and `:sudo=True`) has it install them.
"""

import os
import re
import shutil

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

FOLDERS = ("cmake", "cli", "experiments", "judge", "kernels", "library", "models", "numerics", "proptests", "python", "theory")
FILES = ("CMakeLists.txt", "LICENSE", "CITATION.cff", "README.md")
FOR_TESTS = {"libgtest-dev", "libgmock-dev", "libbenchmark-dev", "liblapack-dev", "gnuplot-nox"}


class Softcheck(ConanFile):
    name = "softcheck"
    description = "Formal and numerical verification of softmax attention"
    license = "Apache-2.0"
    topics = ("softmax", "attention", "verification", "numerics")
    package_type = "shared-library"  # and archives: those that a matcher links
    settings = "os", "arch", "compiler", "build_type"

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(softcheck VERSION ([0-9.]+)", text).group(1)

    def export(self):
        shutil.copy2(os.path.join(self._root, "run"), self.export_folder)

    def export_sources(self):
        for name in FILES:
            shutil.copy2(os.path.join(self._root, name), self.export_sources_folder)
        for name in FOLDERS:
            copy(self, "*", src=os.path.join(self._root, name), dst=os.path.join(self.export_sources_folder, name))

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("softcheck contains kernels by Linux namespaces: it needs Linux")

    def system_requirements(self):
        # One list of dependencies: that of ./run. Lines that begin with '~' or '^' are for its other verbs.
        table = re.search(r"^dependencies='\n(.*?)^'", load(self, os.path.join(self.recipe_folder, "run")), re.DOTALL | re.MULTILINE)
        names = re.findall(r"^\??([a-z][a-z0-9+.-]*)\|", table.group(1), re.MULTILINE)
        Apt(self).install([name for name in names if name not in FOR_TESTS], check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.blocks.remove("cppstd")  # the project states its own, C++20 with GNU's extensions
        for option in ("TESTS", "BENCHMARKS"):
            toolchain.cache_variables[f"SOFTCHECK_BUILD_{option}"] = False
        toolchain.cache_variables["SOFTCHECK_WARNINGS_AS_ERRORS"] = False
        toolchain.cache_variables["SOFTCHECK_UNITY"] = "12"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # Consumers find softcheckConfig.cmake itself, which names the targets.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "softcheck")]
        self.cpp_info.libs = ["softcheck"]
        self.buildenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))
