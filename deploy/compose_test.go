package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// composition is the part of a compose file that the test knows. Unknown fields fail the test.
type composition struct {
	Name     string
	Program  service `yaml:"x-program"`
	Member   service `yaml:"x-member"`
	Services map[string]service
	Volumes  map[string]struct{}
}

type service struct {
	Image     string
	Build     struct{ Context, Dockerfile string }
	Restart   string
	Grace     string   `yaml:"stop_grace_period"`
	ReadOnly  bool     `yaml:"read_only"`
	Dropped   []string `yaml:"cap_drop"`
	Security  []string `yaml:"security_opt"`
	Network   string   `yaml:"network_mode"`
	Profiles  []string
	Command   []string
	Env       map[string]string `yaml:"environment"`
	Volumes   []string
	Ports     []string
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
	Health    struct {
		Disable bool
		Test    []string
		Every   string `yaml:"interval"`
		Timeout string
		Grace   string `yaml:"start_period"`
		Retries int
	} `yaml:"healthcheck"`
}

// confined reports whether a service runs with no more rights than it needs.
func (s service) confined() bool {
	return s.ReadOnly && slices.Equal(s.Dropped, []string{"ALL"}) && slices.Equal(s.Security, []string{"no-new-privileges:true"})
}

func TestComposeFileNamesWhatExists(t *testing.T) {
	t.Parallel()
	var c composition
	decode(t, "docker/compose.yaml", &c)
	var members []string
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := c.Volumes[source]; named {
				continue
			}
			if _, err := os.Stat(filepath.Join("docker", source)); err != nil {
				t.Errorf("service %s: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("service %s publishes %s, want loopback only", name, p)
			}
		}
		if s.Image != c.Services["secret"].Image {
			if !slices.Equal(s.Profiles, []string{"monitoring"}) || !strings.Contains(s.Image, ":") {
				t.Errorf("service %s has the profiles %q and the image %q, want monitoring and a version", name, s.Profiles, s.Image)
			}
			continue
		}
		if !s.confined() {
			t.Errorf("service %s is not confined: %+v", name, s)
		}
		if name == "secret" {
			if !slices.Contains(s.Volumes, "secret:/var/lib/snowraft") || !s.Health.Disable || s.Network != "none" {
				t.Errorf("the service that makes the secret is %+v", s)
			}
			if _, err := os.Stat(filepath.Join("docker", s.Build.Context, s.Build.Dockerfile)); err != nil || s.Build.Dockerfile == "" {
				t.Errorf("the image is built from %q: %v", s.Build.Dockerfile, err)
			}
			continue
		}
		if s.Build.Dockerfile != "" { // two builds of one image at the same time can fail
			t.Errorf("member %s builds the image too", name)
		}
		members = append(members, name)
		// A member waits for nothing but the secret, so the order of the members does not matter.
		if len(s.DependsOn) != 1 || s.DependsOn["secret"].Condition != "service_completed_successfully" {
			t.Errorf("member %s depends on %v, want on the secret only", name, s.DependsOn)
		}
		if !slices.Equal(s.Health.Test, []string{"CMD", "/snowraft", "health", "--ready"}) {
			t.Errorf("member %s has the health check %q", name, s.Health.Test)
		}
		if path := s.Env["SNOWRAFT_SECRET_FILE"]; !slices.Contains(s.Volumes, "secret:"+filepath.Dir(path)+":ro") {
			t.Errorf("member %s has the secret file %q, which is in none of its volumes %q", name, path, s.Volumes)
		}
		if len(s.Profiles) > 0 || s.Env["SNOWRAFT_NAME"] != name || s.Env["SNOWRAFT_ADVERTISE_HOST"] != name || s.Env["SNOWRAFT_BOOTSTRAP_EXPECT"] != "3" {
			t.Errorf("member %s has the profiles %q and the environment %v", name, s.Profiles, s.Env)
		}
		if !slices.Contains(s.Volumes, name+":/var/lib/snowraft") {
			t.Errorf("member %s has the volumes %q, want one of its own for the data", name, s.Volumes)
		}
		for variable := range s.Env {
			if !strings.Contains(read(t, "../cmd/snowraft/testdata/flags.golden"), "env "+variable+";") {
				t.Errorf("member %s has the variable %s, which serve does not know", name, variable)
			}
		}
	}
	slices.Sort(members)
	if len(members) != 3 {
		t.Fatalf("members %q, want three", members)
	}

	var scraped struct {
		Global struct {
			Scrape   string `yaml:"scrape_interval"`
			Evaluate string `yaml:"evaluation_interval"`
		}
		Rules   []string `yaml:"rule_files"`
		Configs []struct {
			Job    string `yaml:"job_name"`
			Scheme string
			TLS    struct {
				Unverified bool `yaml:"insecure_skip_verify"`
			} `yaml:"tls_config"`
			Targets []struct {
				Targets []string
				Labels  map[string]string
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "prometheus/prometheus.yaml", &scraped)
	if scraped.Configs[0].Scheme != "https" {
		t.Errorf("Prometheus scrapes secured members by %q", scraped.Configs[0].Scheme)
	}
	for i, target := range scraped.Configs[0].Targets[0].Targets {
		if target != members[i]+":7701" {
			t.Errorf("Prometheus scrapes %q, want the HTTP port of each of %q", target, members)
		}
	}
	for _, file := range scraped.Rules {
		read(t, "prometheus/"+file)
	}
}

func TestProvisioningFindsDashboards(t *testing.T) {
	t.Parallel()
	var dashboards struct {
		Version   int `yaml:"apiVersion"`
		Providers []struct {
			Name, Folder, Type string
			Updates            bool `yaml:"allowUiUpdates"`
			Options            struct{ Path string }
		}
	}
	decode(t, "grafana/provisioning/dashboards/snowraft.yaml", &dashboards)
	var c composition
	decode(t, "docker/compose.yaml", &c)
	if path := dashboards.Providers[0].Options.Path; !slices.Contains(c.Services["grafana"].Volumes, "../grafana:"+path+":ro") {
		t.Errorf("Grafana reads dashboards in %s, which is not one of its volumes %q", path, c.Services["grafana"].Volumes)
	}
	var sources struct {
		Version int `yaml:"apiVersion"`
		Sources []struct {
			Name, UID, Type, Access, URL string
			Default                      bool `yaml:"isDefault"`
			Data                         struct {
				Interval string `yaml:"timeInterval"`
			} `yaml:"jsonData"`
		} `yaml:"datasources"`
	}
	decode(t, "grafana/provisioning/datasources/prometheus.yaml", &sources)
	if s := sources.Sources[0]; s.URL != "http://prometheus:9090" || c.Services["prometheus"].Image == "" || !s.Default {
		t.Errorf("the data source is %+v, want the Prometheus of the compose file", s)
	}
}
