//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import "time"

// patience bounds a wait for a condition whose time proves nothing: a test that waits longer hangs.
const patience = 2 * time.Minute

// promised is a limit of real time on which users rely. A test fails if a process takes longer, not counting the time for which
// the machine kept it waiting (see [stalls]). All such limits are constants of this file; every other wait has patience.
type promised time.Duration

func (p promised) String() string { return time.Duration(p).String() }

const (
	// A restarted member issues IDs again without waiting for the end of its earlier window: TestKilledMemberIssuesWithinASecond,
	// and under load or in a series of restarts, TestKillEachMember and TestRestartStorm.
	issuesAfterStart     = promised(time.Second)
	issuesAfterBusyStart = promised(5 * time.Second)

	// Members keep issuing while another member fails or stops: TestKillEachMember, TestShutdownUnderLoad. A member within its
	// window does not depend on others: TestLostQuorum.
	longestGap         = promised(time.Second)
	longestGapInWindow = promised(500 * time.Millisecond)

	// The last ID of a window is issued near the time that the member reports as its end: TestLostQuorum.
	nearWindowEnd = promised(300 * time.Millisecond)

	// A restored cluster issues IDs soon after the time that restore printed: TestRestore, TestRecover.
	issuesAfterRestore = promised(2 * time.Second)

	// The survivors of a lost leader elect another one: TestClientWhileLeadersAreKilled, and between silent strangers,
	// TestAttackSilence.
	electsLeader               = promised(5 * time.Second)
	electsLeaderAmongStrangers = promised(10 * time.Second)

	// A call that another member can answer does not wait for a failed member: TestClientWhileLeadersAreKilled,
	// TestClientWhileAMemberHangs, TestSecretRotationUnderLoad.
	slowestCall = promised(3 * time.Second)

	// All descendants of a wrapped command end with a wrapper that is killed: TestKilledWrapper.
	endWithWrapper = promised(time.Second)

	// A deleted token gets no ID from a member: TestRevocationStopsIssuing.
	revoked = promised(time.Second)

	// A member closes a Redis connection whose command does not arrive within 30 s: TestAttackDrippingCommand.
	commandArrives = promised(60 * time.Second)

	// The console shows no older facts: the tests with the build tag "browser", and TestPagesWithoutJavaScript.
	current              = promised(2 * time.Second)
	currentWithoutScript = promised(7 * time.Second)
)
