package browsertest

import "testing"

// journeys are the tests of the pages that are seen in Firefox too: what a patient, the desk and an owner do from one end to the other,
// by hand and by keys, from right to left and in the dark. The words are the same; only the tab is Firefox's.
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
	{"TestTheLivePage", TestTheLivePage},
}

// TestInFirefox runs them one after the other: only one window of a browser has the focus, and they are about where it is.
func TestInFirefox(t *testing.T) {
	t.Parallel()
	firefox.open(t)
	for _, j := range journeys {
		// They are parallel to others in Chromium; the run around each ends with it.
		t.Run(j.name, func(t *testing.T) { t.Run("again", j.run) })
	}
}
