package helm

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// program returns the path of the program that the pods run.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built builds the program once. TestMain removes it.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(temporary, "snowraft")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/snowraft")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

var temporary string // folder of this test run

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "snowraft-chart-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		temporary = dir
		return m.Run()
	}())
}

// run runs a command with exactly this environment, and returns its output.
func run(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.Concat([]string{}, env) // not nil, which is this process's
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// node stands for the machine that pods run on. It runs the containers of rendered objects as processes, with their command lines
// and environments, except for these substitutions:
//
//   - /snowraft is the program that was built from these sources.
//   - The DNS names of pods and services are addresses in 127.0.0.0/8, one for each pod.
//   - Pods here share one network, so each gets the addresses that it would listen at in its own, such as SNOWRAFT_API_ADDR.
//   - Paths below a volume's mount point are paths of a temporary folder.
type node struct {
	t       *testing.T
	dir     string
	network string            // begin of the addresses, 127.a.b.
	files   map[string]string // folder of each Secret and ConfigMap
}

func newNode(t *testing.T, objects []*object) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), network: freeNetwork(t), files: map[string]string{}}
	for _, m := range all[corev1.ConfigMap](objects) {
		data := map[string][]byte{}
		for name, text := range m.Data {
			data[name] = []byte(text)
		}
		n.store(m.Name, data)
	}
	return n
}

// store stores the files of a Secret or ConfigMap.
func (n *node) store(name string, data map[string][]byte) {
	n.t.Helper()
	dir := filepath.Join(n.dir, "files", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		n.t.Fatal(err)
	}
	for file, content := range data {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o440); err != nil { // the mode of the volume
			n.t.Fatal(err)
		}
	}
	n.files[name] = dir
}

// freeNetwork returns a network of loopback addresses at which no process listens at the API's port.
func freeNetwork(t *testing.T) string {
	t.Helper()
	for i := range 250 {
		network := fmt.Sprintf("127.%d.%d.", 1+(os.Getpid()+i)%250, 1+(time.Now().UnixNano()+int64(i))%250)
		if l, err := net.Listen("tcp", network+"10:7700"); err == nil {
			_ = l.Close()
			return network
		}
	}
	t.Fatal("no loopback network is free")
	return ""
}

// host returns the address of a pod of the StatefulSet.
func (n *node) host(ordinal int) string { return n.network + strconv.Itoa(10+ordinal) }

// resolve replaces DNS names by addresses. The clients' service leads to the first pod.
func (n *node) resolve(text string) string {
	for i := range 9 {
		text = strings.ReplaceAll(text, fmt.Sprintf("%s-%d.%s-members.%s.svc.cluster.local", fullname, i, fullname, namespace), n.host(i))
	}
	text = strings.ReplaceAll(text, fmt.Sprintf("%s.%s.svc.cluster.local", fullname, namespace), n.host(0))
	if strings.Contains(text, "svc.cluster.local") {
		n.t.Errorf("%s: contains the name of no pod and no service", text)
	}
	return text
}

// environment returns the variables of a container as the kubelet sets them, with the substitutions.
func (n *node) environment(name string, c *corev1.Container, volumes []corev1.Volume) []string {
	n.t.Helper()
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = filepath.Join(n.dir, name, m.Name)
		for _, v := range volumes {
			switch {
			case v.Name != m.Name:
			case v.Secret != nil:
				mounts[m.MountPath] = n.files[v.Secret.SecretName]
			case v.ConfigMap != nil:
				mounts[m.MountPath] = n.files[v.ConfigMap.Name]
			}
		}
		if err := os.MkdirAll(mounts[m.MountPath], 0o700); err != nil {
			n.t.Fatal(err)
		}
	}
	set := map[string]string{}
	var env []string
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil {
			if v.ValueFrom.FieldRef == nil || v.ValueFrom.FieldRef.FieldPath != "metadata.name" {
				n.t.Fatalf("%s: value from %+v: not known here", v.Name, v.ValueFrom)
			}
			value = name
		}
		for earlier, its := range set {
			value = strings.ReplaceAll(value, "$("+earlier+")", its)
		}
		set[v.Name] = value
		value = n.resolve(value)
		for at, dir := range mounts {
			if rest, ok := strings.CutPrefix(value, at+"/"); ok {
				value = dir + "/" + rest
			}
		}
		env = append(env, v.Name+"="+value)
	}
	return env
}

// command runs a container to its end, and returns its output.
func (n *node) command(c *corev1.Container, volumes []corev1.Volume) (string, error) {
	n.t.Helper()
	return run(n.t, n.environment("command", c, volumes), n.argument(c.Command[0]), slices.Concat(c.Command[1:], c.Args)...)
}

func (n *node) argument(name string) string {
	if name != "/snowraft" {
		n.t.Fatalf("command %q, want /snowraft", name)
	}
	return program(n.t)
}

// pod is a running pod of a StatefulSet.
type pod struct {
	n         *node
	ordinal   int
	container *corev1.Container
	process   *exec.Cmd
	log       *bytes.Buffer // safe to read after the end
	ended     chan struct{}
}

// start starts a pod, with the volume that it had before.
func (n *node) start(set *appsv1.StatefulSet, ordinal int) *pod {
	n.t.Helper()
	spec := set.Spec.Template.Spec
	c := &spec.Containers[0]
	p := &pod{n: n, ordinal: ordinal, container: c, log: new(bytes.Buffer), ended: make(chan struct{})}
	p.process = exec.Command(n.argument(c.Command[0]), slices.Concat(c.Command[1:], c.Args)...)
	env := n.environment(fmt.Sprintf("%s-%d", set.Name, ordinal), c, spec.Volumes)
	for _, port := range c.Ports {
		name := "SNOWRAFT_" + strings.ToUpper(port.Name) + "_ADDR"
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		env = append(env, name+"="+net.JoinHostPort(n.host(ordinal), strconv.Itoa(int(port.ContainerPort))))
	}
	p.process.Env = env
	p.process.Stdout, p.process.Stderr = p.log, p.log
	if err := p.process.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = p.process.Wait()
		close(p.ended)
	}()
	n.t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		if n.t.Failed() {
			n.t.Logf("log of pod %d:\n%s", ordinal, p.log)
		}
	})
	return p
}

// signal sends a signal and waits for the end.
func (p *pod) signal(s syscall.Signal) {
	_ = p.process.Process.Signal(s)
	<-p.ended
}

func (p *pod) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// exec runs the program inside the pod, as "kubectl exec" does.
func (p *pod) exec(args ...string) (string, error) {
	env := p.process.Env
	// Without a network of its own, the member does not listen at 127.0.0.1.
	env = append(slices.Clone(env), "SNOWRAFT_ADDR="+net.JoinHostPort(p.n.host(p.ordinal), "7700"))
	return run(p.n.t, env, program(p.n.t), args...)
}

// probe makes the request of a probe as the kubelet does, and returns the status code; 0 without an answer.
func (p *pod) probe(probe *corev1.Probe) int {
	get := probe.HTTPGet
	port := slices.IndexFunc(p.container.Ports, func(c corev1.ContainerPort) bool { return c.Name == get.Port.StrVal })
	ctx, cancel := context.WithTimeout(p.n.t.Context(), time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	url := fmt.Sprintf("%s://%s:%d%s", strings.ToLower(string(get.Scheme)), p.n.host(p.ordinal), p.container.Ports[port].ContainerPort, get.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		p.n.t.Fatal(err)
	}
	request.Header.Set("User-Agent", "kube-probe/1.34")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// alive checks that no probe would restart the pod now.
func (p *pod) alive() {
	p.n.t.Helper()
	for _, probe := range []*corev1.Probe{p.container.StartupProbe, p.container.LivenessProbe} {
		equal(p.n.t, fmt.Sprintf("pod %d: %s", p.ordinal, probe.HTTPGet.Path), p.probe(probe), http.StatusOK)
	}
}

func (p *pod) ready() bool { return p.probe(p.container.ReadinessProbe) == http.StatusOK }

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not after a minute: %s", what)
		}
	}
}
