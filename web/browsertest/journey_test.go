package browsertest

import "testing"

// journeys are the tests of the pages that also run in Firefox: complete tasks of a patient, the desk and an owner, by
// mouse and by keyboard, from right to left and in the dark theme. The tests are the same, but run in a tab of Firefox.
var journeys = []struct {
	name string
	run  func(*testing.T)
}{
	{"TestPolicyViolationFailsTest", TestPolicyViolationFailsTest},

	// A patient.
	{"TestPatientBooksFirstAvailable", TestPatientBooksFirstAvailable},
	{"TestBackAndForwardAfterBooking", TestBackAndForwardAfterBooking},
	{"TestHoldGreysTimeForOthers", TestHoldGreysTimeForOthers},
	{"TestFocusStaysOnTakenTime", TestFocusStaysOnTakenTime},
	{"TestExpiredHoldIsClaimedAgain", TestExpiredHoldIsClaimedAgain},
	{"TestLostTimeKeepsForm", TestLostTimeKeepsForm},
	{"TestReloadKeepsHoldAndForm", TestReloadKeepsHoldAndForm},
	{"TestOpenFormShowsNewQuestions", TestOpenFormShowsNewQuestions},
	{"TestDuplicatedTabIsNewClient", TestDuplicatedTabIsNewClient},
	{"TestOfflinePageRecovers", TestOfflinePageRecovers},
	{"TestLostAnswerBooksOnce", TestLostAnswerBooksOnce},
	{"TestPatientBooksOverPlainHTTP", TestPatientBooksOverPlainHTTP},
	{"TestPatientBooksByKeyboard", TestPatientBooksByKeyboard},
	{"TestPatientBooksAt400Percent", TestPatientBooksAt400Percent},
	{"TestPatientPagesAreAccessible", TestPatientPagesAreAccessible},
	{"TestPatientPagesInForcedColours", TestPatientPagesInForcedColours},
	{"TestPatientMovesByLink", TestPatientMovesByLink},
	{"TestPatientCancelsByLink", TestPatientCancelsByLink},
	{"TestVisitorConfirmsByEmail", TestVisitorConfirmsByEmail},
	{"TestVisitorAcceptsOffer", TestVisitorAcceptsOffer},
	{"TestEmbeddedPageBooks", TestEmbeddedPageBooks},
	{"TestUnlistedSiteCannotEmbed", TestUnlistedSiteCannotEmbed},
	{"TestEmbeddedPageShowsBookButton", TestEmbeddedPageShowsBookButton},
	{"TestEmbeddedPageBooksWithoutStorage", TestEmbeddedPageBooksWithoutStorage},
	{"TestNamedSitesPageBooks", TestNamedSitesPageBooks},
	{"TestDemoShowsHoldOnThreePages", TestDemoShowsHoldOnThreePages},

	// The desk.
	{"TestDeskDayByKeyboard", TestDeskDayByKeyboard},
	{"TestReceptionBooksWithSevenKeys", TestReceptionBooksWithSevenKeys},
	{"TestDragEqualsMoveDialog", TestDragEqualsMoveDialog},
	{"TestBoardUndoes", TestBoardUndoes},
	{"TestBoardShowsHoldInProgress", TestBoardShowsHoldInProgress},
	{"TestDeskIsAccessible", TestDeskIsAccessible},
	{"TestExpiredSignInKeepsDraft", TestExpiredSignInKeepsDraft},
	{"TestDeskDecidesRequests", TestDeskDecidesRequests},
	{"TestDowntimePlanOpensOffline", TestDowntimePlanOpensOffline},

	// An owner.
	{"TestSetupCreatesClinic", TestSetupCreatesClinic},
	{"TestOwnerManagesSchedule", TestOwnerManagesSchedule},
	{"TestQueuePageRetriesAndGivesUp", TestQueuePageRetriesAndGivesUp},
	{"TestOwnerSendsWebhookAgain", TestOwnerSendsWebhookAgain},
	{"TestLivePage", TestLivePage},
}

// TestInFirefox runs the journeys one after another, because they test the focus, and only one browser window can have
// the focus.
func TestInFirefox(t *testing.T) {
	t.Parallel()
	firefox.open(t)
	for _, j := range journeys {
		// The journeys call t.Parallel. The subtest around each journey ends only when the journey has ended.
		t.Run(j.name, func(t *testing.T) { t.Run("again", j.run) })
	}
}
