package serve

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup/archive"
	"github.com/snowraft/snowraft/server/backups"
)

// The flags of scheduled backups.
const (
	backupToFlag    = "backup-to"
	backupEveryFlag = "backup-every"
	backupKeepFlag  = "backup-keep"
	backupAgeFlag   = "backup-max-age"
)

const (
	day = 24 * time.Hour
	// The defaults keep a week of hourly backups.
	defaultBackupEvery, defaultBackupKeep = time.Hour, 7 * 24
	minBackupEvery, maxBackupEvery        = time.Minute, 30 * day
	maxBackupKeep                         = 10_000
	maxBackupAge                          = 10 * 365 * day
)

// schedule holds the settings of scheduled backups.
type schedule struct {
	to    string
	given string // name of a given setting other than to; empty without one
	backups.Schedule
}

func addBackupFlags(cmd *cobra.Command, s *schedule) {
	s.Every, s.Keep = defaultBackupEvery, defaultBackupKeep
	const group = "Backups"
	cli.AddSetting(cmd, group, backupToFlag, cli.TextValue(&s.to, "DIR|URL"),
		"directory or s3://BUCKET/PREFIX that gets scheduled backups, the same on all members; empty disables them")
	cli.AddSetting(cmd, group, backupEveryFlag, cli.DurationValue(&s.Every, minBackupEvery, maxBackupEvery),
		"interval between two backups, which the leader takes")
	cli.AddSetting(cmd, group, backupKeepFlag, cli.IntValue(&s.Keep, 1, maxBackupKeep), "number of backups to keep; older ones are deleted")
	cli.AddSetting(cmd, group, backupAgeFlag, cli.DaysValue(&s.MaxAge, minBackupEvery, maxBackupAge),
		"age from which backups are deleted, except the last one; 0: no limit")
}

// finish notes which settings of a schedule are given.
func (s *schedule) finish(flags *pflag.FlagSet) {
	for _, name := range []string{backupEveryFlag, backupKeepFlag, backupAgeFlag} {
		if flags.Changed(name) {
			s.given = name
		}
	}
}

// openBackups sets the schedule of the member from its settings.
func (c *config) openBackups() error {
	s := &c.backups
	if s.to == "" {
		if s.given != "" {
			return cli.Usagef("--%s: cannot be used without --%s", s.given, backupToFlag)
		}
		return nil
	}
	if !archive.IsURL(s.to) && !filepath.IsAbs(s.to) {
		return cli.Usagef("--%s %q: expected an absolute path, or s3://BUCKET/PREFIX", backupToFlag, s.to)
	}
	var err error
	if s.Place, err = archive.At(s.to); err != nil {
		return cli.Usagef("--%s: %v", backupToFlag, err) // the text may contain a secret
	}
	c.Backups = &s.Schedule
	return nil
}
