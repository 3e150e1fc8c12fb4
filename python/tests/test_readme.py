"""What the package's page says of its wheel, beside the files that make it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "python" / "README.md").read_text()
# What Debian's packages bring, by the page's names: libraries, and headers whose code is compiled in.
NAMES = {
    "libgmp10": "GMP",
    "libmpfr6": "MPFR",
    "libmpfi0": "MPFI",
    "libhwy1": "Highway",
    "libseccomp2": "libseccomp",
    "libfmt9": "fmt",
    "libzip4": "libzip",
    "zlib1g": "zlib",
    "libstdc++6": "libstdc\\+\\+",
    "libc6": "glibc",
    "librapidcheck-dev": "RapidCheck",
    "nlohmann-json3-dev": "nlohmann's JSON",
    "libeigen3-dev": "Eigen",
    "libcli11-dev": "CLI11",
    "libtomlplusplus-dev": "toml\\+\\+",
}


def test_the_page_names_each_library_of_the_wheel():
    packages = re.search(r"foreach\(package\s(.*?)\)", (ROOT / "cmake" / "softcheck_wheel.cmake").read_text(), re.S)[1].split()
    held = re.search(r"The wheel holds (.*?);", README, re.S)[1]
    assert sorted(packages) == sorted(NAMES)
    assert [name for name in NAMES.values() if not re.search(rf"\b{name}(?!\w)", held)] == []


def test_the_page_says_what_an_installation_from_a_checkout_needs():
    said = re.search(r"`pip install \.`.*?\n\n|`pip install \.`.*", README, re.S)[0]
    assert "Debian packages" in said and "minutes" in said
