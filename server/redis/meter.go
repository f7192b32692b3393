package redis

import "time"

// Meter counts the commands of one name. Many connections use it concurrently.
type Meter interface {
	// Answered counts commands of one connection that were answered together: the successful and the failed ones, and the
	// time from reading them to their answer. It is not called for each command, because that would cost more than many
	// commands.
	Answered(ok, failed uint64, took time.Duration)
	// Failed is called once for each failed command. rpc.FromError can read the error.
	Failed(why error)
}

// answered counts the commands of one name that were answered since the last report to the meters.
type answered struct {
	cmd        *command
	ok, failed uint64
}

// count counts the answer to a command.
func (c *conn) count(cmd *command, why error) {
	a := c.answersTo(cmd)
	if why == nil {
		a.ok++
		return
	}
	a.failed++
	c.s.meters[cmd.index].Failed(why)
}

func (c *conn) answersTo(cmd *command) *answered {
	for i := len(c.answered) - 1; i >= 0; i-- {
		if c.answered[i].cmd == cmd {
			return &c.answered[i]
		}
	}
	c.answered = append(c.answered, answered{cmd: cmd})
	return &c.answered[len(c.answered)-1]
}

// meter reports the counted answers to the meters when the answers are sent.
func (c *conn) meter() {
	if len(c.answered) == 0 {
		return
	}
	took := time.Since(c.began)
	for _, a := range c.answered {
		c.s.meters[a.cmd.index].Answered(a.ok, a.failed, took)
	}
	c.answered = c.answered[:0]
}
