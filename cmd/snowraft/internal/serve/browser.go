package serve

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// browser returns the command line that opens an address on a desktop. The error is the reason for a missing desktop.
func browser(system string, env func(string) string) ([]string, error) {
	switch system {
	case "darwin":
		return []string{"open"}, nil
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}, nil
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("no desktop: neither DISPLAY nor WAYLAND_DISPLAY is set")
	}
	return []string{"xdg-open"}, nil
}

// openURL starts the browser of the desktop with an address. It calls failed with an error after the start.
func (h *Host) openURL(ctx context.Context, url string, failed func(error)) error {
	line, err := browser(runtime.GOOS, h.Env)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(line[0])
	if err != nil {
		return fmt.Errorf("program %s not found", line[0])
	}
	// The browser outlives this process.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, append(line[1:], url)...) //nolint:gosec // one of a few programs
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			failed(fmt.Errorf("%s: %w", line[0], err))
		}
	}()
	return nil
}
