"""The machine code of GPU kernels as `cuobjdump` prints it, one value for each instruction."""

import re
import subprocess
from dataclasses import dataclass, field


class Malformed(Exception):
    """Input that this program cannot read; the message is one line."""


@dataclass(frozen=True)
class Instruction:
    address: int
    predicate: str  # "@P0", "@!UP1", "" where the instruction always runs
    opcode: str  # with its modifiers: "LDG.E.128"
    operands: str

    @property
    def name(self):
        """The opcode without modifiers: "LDG"."""
        return self.opcode.split(".", 1)[0]

    @property
    def target(self):
        """The address that a branch names; None if the operands name none."""
        addresses = re.findall(r"(?<![\w\[])0x([0-9a-f]+)\b", self.operands)
        return int(addresses[-1], 16) if addresses else None

    @property
    def bytes(self):
        """The number of bytes that a thread loads or stores."""
        sizes = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
        return next((sizes[modifier] for modifier in self.opcode.split(".")[1:] if modifier in sizes), 4)


@dataclass
class Kernel:
    symbol: str  # as the linker knows it
    name: str  # as people call it: short_name()
    instructions: list = field(default_factory=list)
    registers: int = 0  # a thread
    stack: int = 0  # bytes of a thread: spilled registers lie there


LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
FUNCTION = re.compile(r"^\s*Function : (\S+)")
RESOURCES = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) ")
FORMATS = {"float": "f32", "double": "f64", "softcheck::kernels::Half": "f16", "softcheck::kernels::BFloat": "bf16"}


def short_name(demangled):
    """"row_kernel<F64Rows<SoftmaxKernel>, RowArguments<..., double>>(...)" becomes "softmax f64"; a result in another format
    is named after an arrow: "varentropy f16->f32"; template arguments that are values stay in their order. A tree kernel has
    its layout behind the op: "tree_softmax warp 8 f32"."""
    found = re.match(r"void (?:[\w:]*::)?(\w+)_kernel<(.*)>\(", demangled.replace("(anonymous namespace)::", ""))
    if not found:
        return re.sub(r"\(.*", "", demangled)
    family, arguments = found.groups()
    op = re.search(r"(\w+)Kernel>?,", arguments)
    if (family == "row" or family.startswith("tree_")) and op:
        named = re.sub(r"(?<!^)([A-Z])", r"_\1", op[1]).lower()
        family = named if family == "row" else f"tree_{named} {family[5:]}"
        arguments = arguments[op.end():]
    words = re.findall(r"softcheck::kernels::(?:Half|BFloat)|\bfloat\b|\bdouble\b|\btrue\b|\bfalse\b|\b\d+\b",
                       re.sub(r"CudaBlock<\d+>", "", arguments))
    formats = [FORMATS[word] for word in words if word in FORMATS]
    values = [word for word in words if word not in FORMATS]
    if len(formats) > 1 and formats[1] != formats[0]:
        formats = [f"{formats[0]}->{formats[1]}"]
    return " ".join([family, *values, *formats[:1]])


def demangled(symbols):
    """The output of c++filt for each symbol."""
    try:
        out = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Malformed(f"c++filt: {error}") from error
    return out.splitlines()


def parsed(code, resources, source):
    """The kernels in what `cuobjdump -sass` and `cuobjdump -res-usage` printed."""
    kernels = []
    for line in code.splitlines():
        if found := FUNCTION.match(line):
            kernels.append(Kernel(found[1], found[1]))
        elif found := LINE.match(line):
            if not kernels:
                raise Malformed(f"{source}: an instruction before any function")
            kernels[-1].instructions.append(Instruction(int(found[1], 16), found[2] or "", found[3], found[4]))
    if not kernels:
        raise Malformed(f"{source}: no kernel for this architecture")
    usage = {found[1]: (int(found[2]), int(found[3])) for found in RESOURCES.finditer(resources)}
    for kernel, name in zip(kernels, demangled([kernel.symbol for kernel in kernels])):
        if not kernel.instructions or kernel.symbol not in usage:
            raise Malformed(f"{source}: {kernel.symbol} has no {'resources' if kernel.instructions else 'instructions'}")
        kernel.name, (kernel.registers, kernel.stack) = short_name(name), usage[kernel.symbol]
    return kernels
