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

var errNoVDSO = errors.New("process has no vDSO (possible causes: a 32-bit program, the kernel parameter vdso=0)")

// mapped returns the address and the size in bytes of a process's vDSO. Both fit into 63 bits.
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

// vdsoAddress returns the vDSO's address from an auxiliary vector: pairs of a type and
// a value, 8 bytes each.
func vdsoAddress(auxv []byte) (uint64, error) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		base := binary.LittleEndian.Uint64(auxv[8:])
		if binary.LittleEndian.Uint64(auxv) == atSysinfoEhdr && base != 0 && base <= math.MaxInt64-maxImage {
			return base, nil
		}
	}
	return 0, errNoVDSO
}

// mappingSize returns the size of the mapping that begins at base, from the content of
// /proc/PID/maps. Its lines are "from-until permissions ...", with hexadecimal addresses.
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
			return 0, fmt.Errorf("mapping of the vDSO %q: implausible end", lines.Text())
		}
		return end - base, nil
	}
	return 0, errors.Join(errNoVDSO, lines.Err())
}
