package overview

// Anchors of headings in docs/runbook.md. Each finding has one of them.
const (
	runbookNoLeader     = "no-leader"
	runbookLost         = "lost-majority"
	runbookCutOff       = "member-cut-off"
	runbookBehind       = "clock-behind"
	runbookAhead        = "clock-ahead"
	runbookObserved     = "observed-clock-in-the-future"
	runbookWaits        = "member-waits-for-others"
	runbookDoesNotStart = "a-member-does-not-start"
	runbookFollower     = "follower-behind"
	runbookForeign      = "members-that-cannot-understand-each-other"
	runbookMoved        = "changed-address"
	runbookWorkers      = "workers-exhausted"
	runbookSetBack      = "set-back"
	runbookRestored     = "restored-and-frozen"
	runbookLayoutEnds   = "layout-near-its-end"
	runbookTooFew       = "too-few-voters"
	runbookSecret       = "secret-not-in-use"
	runbookCertificate  = "custom-certificate"
	runbookUpgrade      = "upgrade-not-finalized"
	runbookSymptoms     = "runbook" // the page begins with a table of all symptoms
)
