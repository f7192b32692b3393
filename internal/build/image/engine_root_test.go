//go:build root && linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/snowraft/snowraft/jepsen/network"
)

// composition is the part of the compose file that the test runs.
type composition struct{ Services map[string]service }

type service struct {
	Command     []string
	Environment map[string]string
	Volumes     []string
	Healthcheck struct{ Test []string }
}

// engine runs the services of the compose file like a container engine. Each service has its own copy of the image's files, the
// user, the environment and the command of the image and the service, volumes, a network address and the names of the others.
type engine struct {
	t       *testing.T
	image   opened
	compose composition
	net     *network.Net
	dir     string
	names   []string // "address name" of each running container
	running map[string]*container
}

// container is a created container of a service.
type container struct {
	e    *engine
	name string
	root string
	host *network.Host
	env  []string
	cmd  *exec.Cmd // nil while the container does not run
	log  *os.File
}

func newEngine(t *testing.T, image opened) *engine {
	t.Helper()
	e := &engine{t: t, image: image, dir: t.TempDir(), running: make(map[string]*container)}
	if err := os.Chmod(e.dir, 0o711); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../deploy/docker/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &e.compose); err != nil {
		t.Fatal(err)
	}
	if e.net, err = network.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range e.running {
			c.stop(syscall.SIGKILL)
		}
		_ = e.net.Close()
	})
	return e
}

// create creates the container of a service with its volumes. The number is part of its address.
func (e *engine) create(name string, number int) *container {
	e.t.Helper()
	c := &container{e: e, name: name, root: filepath.Join(e.dir, "root-"+name)}
	for _, f := range e.image.files {
		path := filepath.Join(c.root, f.name)
		e.must(os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(f.name, "/") {
			e.must(os.MkdirAll(path, os.FileMode(f.mode)))
		} else {
			e.must(os.WriteFile(path, f.content, os.FileMode(f.mode)))
		}
		e.must(os.Chown(path, f.owner, f.owner))
	}
	for _, volume := range e.compose.Services[name].Volumes {
		from, at, _ := strings.Cut(volume, ":")
		at, option, _ := strings.Cut(at, ":")
		e.mount(filepath.Join(e.dir, "volume-"+from), filepath.Join(c.root, at), option == "ro")
	}
	e.must(os.MkdirAll(filepath.Join(c.root, "etc"), 0o755))
	var err error
	c.host, err = e.net.AddHost(e.t.Context(), name, number)
	e.must(err)
	env := make(map[string]string)
	for _, v := range e.image.config.Config.Env {
		k, value, _ := strings.Cut(v, "=")
		env[k] = value
	}
	maps.Copy(env, e.compose.Services[name].Environment)
	for _, k := range slices.Sorted(maps.Keys(env)) {
		c.env = append(c.env, k+"="+env[k])
	}
	c.log, err = os.Create(filepath.Join(e.dir, name+".log"))
	e.must(err)
	e.t.Cleanup(func() {
		_ = c.log.Close()
		if e.t.Failed() {
			e.t.Logf("%s:\n%s", name, c.output())
		}
	})
	return c
}

// mount mounts a volume. A new volume gets the owner and the mode of the directory in the image.
func (e *engine) mount(volume, at string, readOnly bool) {
	e.t.Helper()
	if _, err := os.Stat(volume); err != nil {
		e.must(os.Mkdir(volume, 0o755))
		if info, err := os.Stat(at); err == nil {
			owner := int(info.Sys().(*syscall.Stat_t).Uid)
			e.must(os.Chmod(volume, info.Mode()))
			e.must(os.Chown(volume, owner, owner))
		}
	}
	e.must(os.MkdirAll(at, 0o755))
	e.must(syscall.Mount(volume, at, "", syscall.MS_BIND, ""))
	if readOnly {
		e.must(syscall.Mount("", at, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	}
	e.t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

func (e *engine) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// command returns a process of the container, with its first word as the program.
func (c *container) command(ctx context.Context, words ...string) *exec.Cmd {
	id, group, _ := strings.Cut(c.e.image.config.Config.User, ":")
	uid, err := strconv.ParseUint(id, 10, 32)
	c.e.must(err)
	gid, err := strconv.ParseUint(group, 10, 32)
	c.e.must(err)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = "/", c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: c.root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

// start starts the command of the service, and gives its name to all containers.
func (c *container) start() {
	c.e.t.Helper()
	settings := c.e.image.config.Config
	arguments := c.e.compose.Services[c.name].Command
	if len(arguments) == 0 {
		arguments = settings.Cmd
	}
	c.cmd = c.command(context.Background(), append(slices.Clone(settings.Entrypoint), arguments...)...)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.e.running[c.name] = c
	c.e.names = append(c.e.names, c.host.IP+" "+c.name)
	text := []byte("127.0.0.1 localhost\n" + strings.Join(c.e.names, "\n") + "\n")
	for _, other := range c.e.running {
		c.e.must(os.WriteFile(filepath.Join(other.root, "etc/hosts"), text, 0o644))
	}
	c.e.must(c.host.Do(c.cmd.Start))
}

// stop stops the container and returns its exit code.
func (c *container) stop(signal syscall.Signal) int {
	if c.cmd == nil {
		return 0
	}
	_ = c.cmd.Process.Signal(signal)
	_ = c.cmd.Wait()
	code := c.cmd.ProcessState.ExitCode()
	c.cmd = nil
	return code
}

// output returns the output of the container.
func (c *container) output() string {
	text, err := os.ReadFile(c.log.Name())
	c.e.must(err)
	return string(text)
}

// exec runs a program in the container, and returns its standard output.
func (c *container) exec(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.e.t.Context(), 20*time.Second)
	defer cancel()
	var out, failure bytes.Buffer
	cmd := c.command(ctx, words...)
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := c.host.Do(cmd.Run); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, failure.String())
	}
	return out.String(), nil
}

// healthy runs the health check of the service or of the image.
func (c *container) healthy(ofService bool) error {
	test := c.e.image.config.Config.Healthcheck.Test
	if ofService {
		test = c.e.compose.Services[c.name].Healthcheck.Test
	}
	if test[0] != "CMD" {
		return fmt.Errorf("the health check %q needs a shell, which the image does not have", test)
	}
	_, err := c.exec(test[1:]...)
	return err
}

// until waits until a check succeeds.
func (e *engine) until(what string, check func() error) {
	e.t.Helper()
	deadline, poll := time.NewTimer(30*time.Second), time.NewTicker(100*time.Millisecond)
	defer deadline.Stop()
	defer poll.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			e.t.Fatalf("%s: %v", what, cmp.Or(err, context.DeadlineExceeded))
		}
	}
}
