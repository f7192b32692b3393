package cgroup

import (
	"slices"
	"testing"
	"testing/fstest"
)

// host returns the files of a machine.
func host(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

const (
	second = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 none rw,nsdelegate\n"
	first  = "22 27 0:21 / /proc rw - proc none rw\n" +
		"35 30 0:31 / /sys/fs/cgroup/pids rw - cgroup none rw,pids\n" +
		"36 30 0:32 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n"
	none = "9223372036854771712\n" // version 1 without a limit
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no control group": {nil, 0},
		"version 2": {map[string]string{
			"proc/self/mountinfo": second, "proc/self/cgroup": "0::/system.slice/snowraft.service\n",
			"sys/fs/cgroup/system.slice/snowraft.service/memory.max": "1073741824\n",
		}, 1 << 30},
		"version 2 without a limit": {map[string]string{
			"proc/self/mountinfo": second, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 0},
		"version 2, limit of the group above": {map[string]string{
			"proc/self/mountinfo": second, "proc/self/cgroup": "0::/pod/container\n",
			"sys/fs/cgroup/pod/container/memory.max": "4096\n", "sys/fs/cgroup/pod/memory.max": "2048\n",
		}, 2048},
		"version 2 in a container": {map[string]string{
			"proc/self/mountinfo": second, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"version 1": {map[string]string{
			"proc/self/mountinfo": first, "proc/self/cgroup": "8:pids:/a\n4:memory:/b\n",
			"sys/fs/cgroup/memory/b/memory.limit_in_bytes": "1048576\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1\n", // the group of another process
		}, 1 << 20},
		"version 1 without a limit": {map[string]string{
			"proc/self/mountinfo": first, "proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
		}, 0},
		"version 1 in a container": {map[string]string{
			"proc/self/mountinfo": "36 30 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup none rw,memory\n",
			"proc/self/cgroup":    "4:memory:/docker/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "4194304\n",
		}, 4 << 20},
	} {
		if got := MemoryLimit(host(c.files)); got != c.want {
			t.Errorf("%s: MemoryLimit() = %d, want %d", name, got, c.want)
		}
	}
}

func TestOwnBeginsWithVersion2(t *testing.T) {
	t.Parallel()
	root := host(map[string]string{"proc/self/mountinfo": first + second, "proc/self/cgroup": "8:pids:/a\n4:memory:/b\n0::/c\n"})
	want := []string{"/sys/fs/cgroup/c", "/sys/fs/cgroup/pids/a", "/sys/fs/cgroup/memory/b"}
	if got := Own(root); !slices.Equal(got, want) {
		t.Errorf("Own() = %q, want %q", got, want)
	}
}
