package main

// scenarios lists all scenarios in the order of the page.
var scenarios = []scenario{
	{name: "operations", about: "every operation", play: operations},
	{name: "errors", about: "errors carry the reason, and whether to repeat", play: refusals},
	{name: "generator", about: "the generator issues unique, ascending IDs", feature: "generator", play: generatorIssues},
	{name: "decode", about: "decodes and encodes IDs offline", feature: "offline", play: decodes},
	{name: "together", about: "all clients at once, with several processes each: no ID twice", together: together},
	{name: "killed", about: "continues while a member is killed and restarted", disturbs: true, play: killed},
	{name: "learned", about: "learns the other members, and outlives the one that it was given", disturbs: true, play: learned},
	{name: "readdressed", about: "the members restart at other addresses one by one, and none stays at those that the client was given", disturbs: true, long: true, play: readdressed},
	{name: "partitioned", about: "a member is cut off, also the leader, then healed: calls continue through the majority", feature: "generator", disturbs: true, long: true, partitions: true, play: partitioned},
	{name: "stopped", about: "all members stop: the generator continues, and stops before its window's end", feature: "generator", disturbs: true, play: stopped},
	{name: "dropped", about: "answers are lost: an extension is repeated with its ID", feature: "generator", http: true, play: dropped},
	{name: "unanswered", about: "a missing answer does not count as a grant", feature: "generator", http: true, play: unanswered},
	{name: "repeated", about: "requests arrive twice, and answers late", feature: "generator", http: true, play: repeated},
	{name: "sealed", about: "a cluster that is sealed: the generator stops at once", feature: "generator", http: true, play: sealed},
	{name: "clock", about: "a clock that is behind or ahead issues nothing", feature: "clock", play: clocks},
	{name: "skewed", about: "the wall clock jumps back and forward, and creeps, while the generator issues: no ID twice", feature: "generator", long: true, play: skewed},
	{name: "fork", about: "a forked child issues nothing, and the parent continues", feature: "fork", play: forks},
	{name: "workers", about: "worker threads, and processes of the module cluster, issue from leases of their own", feature: "workers", play: workers},
	{name: "virtual", about: "thousands of virtual threads issue, and none keeps its carrier while it waits", feature: "virtual", newest: true, play: virtualThreads},
	{name: "tokens", about: "tokens and scopes, a token that is deleted, and one that expires", play: tokens},
	{name: "pin", about: "no token on a connection whose pin is not verified", play: pins},
	{name: "rotated", about: "the secret is replaced at members with the operator's certificate: the old pin verifies members until the old secret is removed", disturbs: true, long: true, play: rotated},
	{name: "closing", about: "closing under load releases the workers", feature: "generator", play: closing},
	{name: "leaks", about: "keeps no file, thread or memory of what was closed", together: leaks},
}
