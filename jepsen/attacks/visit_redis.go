package attacks

import (
	"context"
	"fmt"
	"strings"
)

// redisHalves sends a part of a command, usually one that announces more bytes than it contains.
func (v visit) redisHalves(ctx context.Context) {
	all := []string{
		"*1000000000\r\n", "*2\r\n$4\r\nINCR\r\n$1000000000\r\n", "*2\r\n$4\r\nINCR\r\n$60000\r\nhost", "*2\r\n$4\r\nAUTH\r\n$400\r\nsnowraft_1_",
		"*-1\r\n$-1\r\n", "*2\r\n$4\r\nINCR\r\n$-5\r\n", "INCR " + strings.Repeat("x", 100<<10), "*2\r\n$99999999999999999999\r\n", "*1\r\n$", "*",
		strings.Repeat("*1\r\n$4\r\nPING\r\n", 1000) + "*1\r\n$4\r\nPI", strings.Repeat("*0\r\n", 10_000),
	}
	v.send(ctx, v.Redis, []byte(all[v.IntN(len(all))]))
}

// redisAuth authenticates with tokens without rights, with tokens that do not exist yet and with none, and sends commands.
func (v visit) redisAuth(ctx context.Context) {
	count := "INCR hostile\r\nINCRBY hostile 1000\r\nGET hostile\r\nINFO\r\nCLIENT LIST\r\n"
	said := []byte(count)
	for range v.some(100) {
		switch v.IntN(3) {
		case 0:
			said = fmt.Appendf(said, "AUTH %s\r\n", v.Token)
		case 1:
			said = fmt.Appendf(said, "HELLO 2 AUTH default %s\r\n", v.later())
		default:
			said = append(said, "RESET\r\n"...)
		}
		said = append(said, count...)
	}
	v.send(ctx, v.Redis, said)
}
