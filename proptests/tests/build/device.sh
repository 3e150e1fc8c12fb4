#!/bin/sh
# device.sh BUILD: kernels that take tensors of a CUDA device, by a driver whose device is the heap (device/driver.c).
# What a real driver and a real device do, `./run gpu` asks where there is one.
set -eu
build=$(cd "$1" && pwd)
command -v cc >/dev/null 2>&1 || { echo "Skipped: no cc"; exit 77; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # the kernel's process may be another user's
cd "$work"
mkdir driver
cc -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC "$root/proptests/tests/build/device/driver.c" -o driver/libcuda.so.1
# kernel NAME SED: the example in C, its tensors on a device, and changed
kernel() {
  sed "s/kDLCPU/kDLCUDA/; s/ || in->strides || out->strides//; $2" "$root/kernels/examples/softmax.c" >"$1.c"
  cc -O2 -shared -fPIC -I "$root" "$1.c" -o "lib$1.so" -lm
}
# judged STATUS KERNEL PATTERN [FAKE_CUDA [ISOLATION]]
judged() {
  status=0
  LD_LIBRARY_PATH="$work/driver" FAKE_CUDA=${4:-} "$build/softcheck" kernel "./lib$2.so:example_softmax_c" --device cuda \
    --effort quick --verbose --domain 'compact nomask' --isolation "${5:-full}" >out 2>&1 || status=$?
  [ $status = "$1" ] && grep -q -e "$3" out || { cat out; echo "$2 ${4:-}: need exit $1 and '$3', got $status"; exit 1; }
}
kernel right ''
kernel wrong 's|p\[i\] /= sum|p[i] /= sum + 1e-3f|'
kernel beside 's|const int64_t rows = in->shape\[0\], n = in->shape\[1\];|&\n  p[rows * n] = 0;|'
kernel before 's|const int64_t rows = in->shape\[0\], n = in->shape\[1\];|&\n  p[-1] = 0;|'
kernel changes 's|const int64_t rows = in->shape\[0\], n = in->shape\[1\];|&\n  if (rows * n) ((float*)x)[0] += 1;|'
kernel forgets 's|p\[i\] /= sum|if (i != 2) p[i] /= sum|'
# A kernel whose values are wrong where one of its sockets can send something: no such socket may be there.
cat "$root/proptests/tests/build/device/sockets.c" right.c >sends.c
sed -i 's|p\[i\] /= sum|p[i] /= sum + sends()|' sends.c
cc -O2 -shared -fPIC -I "$root" sends.c -o libsends.so -lm
judged 0 right '^pass'
grep -q "system calls filtered but for the driver's local sockets" out || { cat out; echo "need the driver's sockets named"; exit 1; }
judged 0 sends '^pass'
judged 1 sends 'fail: kernel.softmax.element' '' process
judged 1 wrong 'fail: kernel.softmax.element'
judged 1 wrong 'replay: softcheck kernel .* --device cuda'
judged 1 beside 'kernel.stays_inside'
judged 1 before 'kernel.stays_inside'
judged 1 changes 'kernel.keeps_inputs'
judged 1 forgets 'fail: kernel.softmax'
judged 6 right 'CUDA: cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS' fault
judged 4 right 'a CUDA device is needed: cuInit: CUDA_ERROR_NO_DEVICE' none
# Calls of a MiB and more are not made: the kernel is not blamed for them.
judged 0 right 'calls whose tensors the device has no memory for were not made' small
# One that is made for tensors of the CPU refuses all of them, and the domain says that it should not.
cc -O2 -shared -fPIC -I "$root" "$root/kernels/examples/softmax.c" -o libhost.so -lm
judged 1 host 'every call was refused'
if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
  status=0
  "$build/softcheck" kernel ./libright.so:example_softmax_c --device cuda >out 2>&1 || status=$?
  [ $status = 4 ] && grep -q 'a CUDA device is needed: no CUDA driver: libcuda.so.1' out ||
    { cat out; echo "no driver: need exit 4, got $status"; exit 1; }
fi
status=0
"$build/softcheck" kernel ./libright.so:example_softmax_c --device gpu >out 2>&1 || status=$?
[ $status = 2 ] && grep -q -e "--device: need cpu or cuda, got 'gpu'" out || { cat out; echo "need exit 2, got $status"; exit 1; }
