//go:build linux && amd64

package skew

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// atSysinfoEhdr is the type of the auxiliary vector's entry with the vDSO's address.
const atSysinfoEhdr = 33

var errNoVDSO = errors.New("it has no vDSO (32-bit program, or the kernel's parameter vdso=0?)")

// mapped is where a process's vDSO is, and how many bytes it has. Both fit into 63 bits.
func mapped(pid int) (base, size uint64, err error) {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, 0, err
	}
	if base, err = vdsoAddress(auxv); err != nil {
		return 0, 0, err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	size, err = mappingSize(maps, base)
	return base, size, err
}

// vdsoAddress finds the vDSO's address in an auxiliary vector: pairs of a type and a
// value, 8 bytes each.
func vdsoAddress(auxv []byte) (uint64, error) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		base := binary.LittleEndian.Uint64(auxv[8:])
		if binary.LittleEndian.Uint64(auxv) == atSysinfoEhdr && base != 0 && base <= math.MaxInt64-maxImage {
			return base, nil
		}
	}
	return 0, errNoVDSO
}

// mappingSize finds the mapping that begins at base in what /proc says of mappings:
// "from-until permissions ...", the addresses in hexadecimal.
func mappingSize(maps []byte, base uint64) (uint64, error) {
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		addresses, _, _ := strings.Cut(lines.Text(), " ")
		from, until, _ := strings.Cut(addresses, "-")
		if at, err := strconv.ParseUint(from, 16, 64); err != nil || at != base {
			continue
		}
		end, err := strconv.ParseUint(until, 16, 64)
		if err != nil || end <= base || end-base > maxImage {
			return 0, fmt.Errorf("the mapping of the vDSO has no sensible end: %q", lines.Text())
		}
		return end - base, nil
	}
	return 0, errors.Join(errNoVDSO, lines.Err())
}
