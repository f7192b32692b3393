//go:build browser

package processtest

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// screenshots is the folder that "make screenshots" writes to.
var screenshots = flag.String("screenshots", "", "folder for screenshots of the console; empty makes none")

// TestScreenshots makes the pictures of the documentation from a cluster in use.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("make screenshots runs it")
	}
	members := startCluster(t, 3)
	members[0].number(t)
	use(t, members)
	b := newTab(t)
	b.shape(1280, "light")
	paths := b.paths(members[0])
	pass(t, 20*time.Second) // windows grow, and rates settle
	for _, path := range paths[:len(paths)-1] {
		query := ""
		if path == "/console/id" {
			resp, err := members[0].generate("", 1)
			if err != nil {
				t.Fatal(err)
			}
			query = fmt.Sprintf("?id=%d", resp.GetRanges()[0].GetFirst())
		}
		b.open(members[0].consoleOf() + path[1:] + query)
		if path == "/console/sequences" {
			pass(t, 15*time.Second) // rates appear
		}
		b.picture(t, chromedp.FullScreenshot(100), "console-"+cmp.Or(path[strings.LastIndex(path, "/")+1:], "now"))
	}
	b.open(members[0].consoleOf() + "console/sequence?name=invoices")
	b.picture(t, chromedp.FullScreenshot(100), "console-sequence")
	b.shape(360, "dark")
	b.open(members[0].consoleOf())
	b.picture(t, chromedp.CaptureScreenshot(), "console-now-phone")
	first := leader(t, members)
	b.expect(first.http) // the page may be a page of the leader
	first.kill()
	b.shape(1280, "dark")
	rest := others(members, first)
	b.open(rest[0].consoleOf())
	b.says(sentence, "is down")
	leader(t, rest)
	b.says(sentence, " leads")
	b.picture(t, chromedp.FullScreenshot(100), "console-now-failover")
}

// use requests IDs and numbers until the test ends.
func use(t *testing.T, members []*member) {
	t.Helper()
	c := dialCluster(t, members)
	const strict, relaxed = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
	for _, spec := range []*snowraftv1.Sequence{
		{Name: "orders", Mode: relaxed},
		{Name: "deliveries", Mode: strict, Max: new(int64(999_999)), Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_MONTHLY},
		{Name: "parcels/2026", Mode: relaxed, Max: new(int64(9_999_999))},
		{Name: "tickets", Mode: strict, Max: new(int64(100_000))},
	} {
		if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: spec}); err != nil {
			t.Fatal(err)
		}
	}
	for name, count := range map[string]uint32{"tickets": 94_000, "deliveries": 120_000} {
		if _, err := members[0].numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: count}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := members[0].numbers.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "ordrs"}); err == nil {
		t.Fatal("a sequence with a mistyped name exists")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	every := func(pause time.Duration, ask func()) {
		defer func() { done <- struct{}{} }()
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for ctx.Err() == nil {
			ask()
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	go every(5*time.Millisecond, func() { askAll(ctx, members) })
	go every(40*time.Millisecond, func() { askNumber(ctx, c) })
	t.Cleanup(func() {
		stop()
		<-done
		<-done
	})
}

// askAll requests an ID from each member.
func askAll(ctx context.Context, members []*member) {
	for _, m := range members {
		_, _ = m.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1}) // fails for a killed member
	}
}

func askNumber(ctx context.Context, c *client.Client) {
	_, _ = c.Sequence("orders").Next(ctx) // may fail after the leader is killed
}

// picture writes a picture of the page with a palette, which keeps the file small.
func (b *tab) picture(t *testing.T, take chromedp.Action[[]byte], name string) {
	t.Helper()
	raw, err := chromedp.Run(b.ctx, take)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, reduced(picture)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(*screenshots, name+".png")
	if err := os.WriteFile(path, small.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes", path, small.Len())
}

// reduced returns a picture with its most frequent colors, no two of which are alike. So small red areas stay red.
func reduced(picture image.Image) *image.Paletted {
	counts := make(map[color.RGBA]int)
	box := picture.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			counts[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, c := range all {
		if len(palette) < 200 && !slices.ContainsFunc(palette, func(p color.Color) bool { return alike(p.(color.RGBA), c) }) {
			palette = append(palette, c)
		}
	}
	out := image.NewPaletted(box, palette)
	draw.Draw(out, box, picture, box.Min, draw.Src)
	return out
}

// alike reports whether people cannot distinguish two colors.
func alike(a, b color.RGBA) bool {
	apart := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return apart(a.R, b.R)+apart(a.G, b.G)+apart(a.B, b.B) < 12
}
