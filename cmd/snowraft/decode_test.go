package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/snowflake"
)

// vector is a published example ID.
type vector struct {
	Layout, ID                   string
	Datacenter, Worker, Sequence uint64
	TickAtMillis                 int64 `json:"tick_at_ms"`
	Time                         string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("../../snowflake/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var known []vector
	for _, v := range file.Vectors {
		if _, ok := snowflake.Preset(v.Layout); ok {
			known = append(known, v)
		}
	}
	if len(known) == 0 {
		t.Fatal("there are no vectors of presets")
	}
	return known
}

// decode decodes a text of a vector's ID. The vector of Sonyflake is of a program that had just chosen its own epoch.
func (v vector) decode(t *testing.T, text string) string {
	t.Helper()
	stdout, stderr, code := command(t, "decode", text, "--layout", v.Layout, "-o", "json")
	if code != cli.ExitDone || (stderr != "") != (v.ID == "1677787138") {
		t.Errorf("decode %s: exit code %d, %s", text, code, stderr)
	}
	return stdout
}

func TestDecodeVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		layout, _ := snowflake.Preset(v.Layout)
		want := `{"id":"` + v.ID + `","layout":"` + v.Layout +
			`","tickAtMs":"` + strconv.FormatInt(v.TickAtMillis, 10) + `","tick":"` + strconv.FormatInt(layout.TickAt(v.TickAtMillis), 10) + `","datacenter":"` + cli.Decimal(v.Datacenter) +
			`","worker":"` + cli.Decimal(v.Worker) + `","sequence":"` + cli.Decimal(v.Sequence) + "\"}\n"
		if got := v.decode(t, v.ID); got != want {
			t.Errorf("decode %s prints %s, want %s", v.ID, got, want)
		}
	}
}

// Decoding a UUID decodes the ID in it, in every layout.
func TestDecodeUUIDs(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		layout, _ := snowflake.Preset(v.Layout)
		id, err := snowflake.Decimal.Decode(v.ID)
		if err != nil {
			t.Fatal(err)
		}
		u, err := layout.UUID(id, snowflake.NewUUIDTag("any", v.Layout))
		if err != nil {
			t.Fatal(err)
		}
		plain := v.decode(t, v.ID)
		want := `{"uuid":"` + u.String() + `",` + strings.TrimPrefix(plain, "{")
		for _, text := range []string{u.String(), strings.ToUpper(u.String())} {
			if got := v.decode(t, text); got != want {
				t.Errorf("decode %s prints %s, want %s", text, got, want)
			}
		}
	}
	// The ID in the UUID has a plain form too.
	if got, want := succeeds(t, "encode", "019b76da-a800-7806-8010-c885bc185cb8"), succeeds(t, "decode", "019b76da-a800-7806-8010-c885bc185cb8"); !strings.Contains(want, strings.TrimSpace(got)) {
		t.Errorf("encode of a UUID prints %s, want the ID in %s", got, want)
	}
	clitest.Golden(t, "decode-uuid", succeeds(t, "decode", "019b76da-a800-7806-8010-c885bc185cb8"))
}

func TestEncodeVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		for _, instant := range []string{v.Time, strconv.FormatInt(v.TickAtMillis, 10)} {
			got := succeeds(t, "encode", "--layout", v.Layout, "--time", instant,
				"--datacenter", cli.Decimal(v.Datacenter), "--worker", cli.Decimal(v.Worker), "--sequence", cli.Decimal(v.Sequence))
			// The time in the vector is already rounded down to a tick longer than 1 ms.
			if got != v.ID+"\n" {
				t.Errorf("%s: encode prints %s, want %s", v.Layout, got, v.ID)
			}
		}
	}
}

func TestEncodeBackAndForth(t *testing.T) {
	t.Parallel()
	const id = "132271570944028672"
	for _, e := range snowflake.Encodings() {
		text := strings.TrimSpace(succeeds(t, "encode", id, "--encoding", e.String()))
		if back := succeeds(t, "encode", text, "--from", e.String()); back != id+"\n" {
			t.Errorf("%v: %s back is %s", e, text, back)
		}
		if out := succeeds(t, "decode", text, "--encoding", e.String()); !strings.Contains(out, id) {
			t.Errorf("%v: decode %s prints %s", e, text, out)
		}
	}
	if got, want := succeeds(t, "encode", id, "--encoding", "base58", "-o", "json"), `{"id":"132271570944028672","encoding":"base58","text":"Jos2sncHm1"}`+"\n"; got != want {
		t.Errorf("encode prints %s, want %s", got, want)
	}
	if got, want := succeeds(t, "encode", "--tick", "1", "--worker", "2", "--sequence", "3"), "4202499\n"; got != want {
		t.Errorf("encode prints %s, want %s", got, want)
	}
	clitest.Golden(t, "decode", succeeds(t, "decode", id))
}

func TestDecodeSeveral(t *testing.T) {
	t.Parallel()
	args := []string{"decode", "1", "132271570944028672", "132271570944028673", "019b76da-a800-7806-8010-c885bc185cb8", "2"}
	stdout, stderr, code := command(t, args...)
	if code != cli.ExitDone || !strings.Contains(stderr, "2 of the IDs date to the first minute") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	clitest.Golden(t, "decode-several", stdout)
	stdout, _, _ = command(t, append(args, "-o", "json")...)
	if got := strings.Count(stdout, "\n"); got != 5 || !strings.Contains(stdout, `{"uuid":"019b76da-a800-7806-8010-c885bc185cb8",`) {
		t.Errorf("prints %s, want 5 documents", stdout)
	}
	if stdout, stderr, code := command(t, "decode", "1", "three", "-o", "json"); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, `"message":"ID 2: malformed text`) {
		t.Errorf("exit code %d, prints %s, %s, want the number of the wrong ID", code, stdout, stderr)
	}
}

// A layout that its fields describe is read and written without a cluster. The ID of a time is the lower bound of a range: no ID of
// that time or later is lower, and each earlier ID is.
func TestOwnLayout(t *testing.T) {
	t.Parallel()
	own := []string{"--fields", "time:41,datacenter:5,worker:5,sequence:12", "--epoch", "2015-01-01T00:00:00Z", "--unit", "10ms"}
	on := func(args ...string) string { return succeeds(t, append(args, own...)...) }
	layout := snowflake.MustNew(snowflake.Spec{Name: "own", UnitMillis: 10, EpochMillis: 1_420_070_400_000, Fields: snowflake.Default().Spec().Fields})
	bound := strings.TrimSpace(on("encode", "--time", "2026-01-01T00:00:00Z"))
	if want := strconv.FormatUint(uint64(layout.TickAt(1_767_225_600_000))<<22, 10); bound != want {
		t.Errorf("encode --time prints %s, want %s", bound, want)
	}
	if got := on("decode", bound, "-o", "json"); !strings.Contains(got, `"layout":"own","tickAtMs":"1767225600000"`) {
		t.Errorf("decode prints %s", got)
	}
	if got := on("decode", strings.TrimSpace(on("encode", "--time", "2026-01-01T00:00:00.010Z", "--datacenter", "3", "--worker", "4", "--sequence", "5")), "-o", "json"); !strings.Contains(got, `"tickAtMs":"1767225600010"`) || !strings.Contains(got, `"datacenter":"3","worker":"4","sequence":"5"`) {
		t.Errorf("decode prints %s", got)
	}
}

// Systems of others may have ticks that are shorter than 1 ms. A cluster does not issue such IDs.
func TestShortTicks(t *testing.T) {
	t.Parallel()
	own := []string{"--fields", "time:45,worker:8,sequence:10", "--epoch", "2020-01-01T00:00:00Z", "--unit", "10us"}
	on := func(args ...string) string { return succeeds(t, append(args, own...)...) }
	bound := strings.TrimSpace(on("encode", "--time", "2026-01-01T00:00:00Z"))
	if want := strconv.FormatInt((1_767_225_600_000-1_577_836_800_000)*100<<18, 10); bound != want {
		t.Errorf("encode --time prints %s, want %s", bound, want)
	}
	if got := on("decode", bound, "-o", "json"); !strings.Contains(got, `"tickAtMs":"1767225600000"`) {
		t.Errorf("decode prints %s", got)
	}
	own[5] = "3us"
	if _, stderr, code := command(t, append([]string{"decode", "1"}, own...)...); code != cli.ExitUsage || !strings.Contains(stderr, "a whole part of 1ms, such as 10us") {
		t.Errorf("a tick of 3us: exit code %d, %s", code, stderr)
	}
}

// An ID that is older than its layout gets a warning, and no plain time.
func TestIDsOlderThanTheirLayout(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"decode 20 -l twitter":                                 "ID 20 is probably older than the layout",
		"decode 20 29700859247 1541815603606036480 -l twitter": "2 of the IDs date to the first minute",
		"decode 1541815603606036480 -l twitter":                "",
	} {
		stdout, stderr, code := command(t, strings.Fields(line)...)
		if code != cli.ExitDone || stdout == "" || (want == "") != (stderr == "") || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q, %q, want %q", line, code, stdout, stderr, want)
		}
	}
}
