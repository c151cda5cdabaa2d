package browsertest

import "testing"

// journeys are the tests of the pages that are seen in Firefox too: what a patient, the desk and an owner do from one end to the other,
// by hand and by keys, from right to left and in the dark. The words are the same; only the tab is Firefox's.
var journeys = []struct {
	name string
	run  func(*testing.T)
}{
	{"TestAPageThatMisbehavesIsSeen", TestAPageThatMisbehavesIsSeen},

	// A patient.
	{"TestAPatientBooksAnyTime", TestAPatientBooksAnyTime},
	{"TestBackAndForwardAfterABooking", TestBackAndForwardAfterABooking},
	{"TestAHoldGreysTheTimeForEverybodyElse", TestAHoldGreysTheTimeForEverybodyElse},
	{"TestFocusStaysOnATimeThatIsTakenAway", TestFocusStaysOnATimeThatIsTakenAway},
	{"TestALapsedTimeIsHeldAgain", TestALapsedTimeIsHeldAgain},
	{"TestALostTimeKeepsWhatWasTyped", TestALostTimeKeepsWhatWasTyped},
	{"TestAReloadKeepsTheTimeAndTheWords", TestAReloadKeepsTheTimeAndTheWords},
	{"TestAnOpenFormLearnsWhatIsAskedNow", TestAnOpenFormLearnsWhatIsAskedNow},
	{"TestADuplicatedTabIsSomebodyElse", TestADuplicatedTabIsSomebodyElse},
	{"TestAPageWithoutNetworkSaysSoAndHeals", TestAPageWithoutNetworkSaysSoAndHeals},
	{"TestALostAnswerIsNoSecondBooking", TestALostAnswerIsNoSecondBooking},
	{"TestBookingOverTheClinicsNetwork", TestBookingOverTheClinicsNetwork},
	{"TestBookingWithTheKeyboardAlone", TestBookingWithTheKeyboardAlone},
	{"TestBookingAt400Percent", TestBookingAt400Percent},
	{"TestThePatientsPagesAreAccessible", TestThePatientsPagesAreAccessible},
	{"TestThePatientsPagesWithOwnColours", TestThePatientsPagesWithOwnColours},
	{"TestChangingAnAppointmentByItsLink", TestChangingAnAppointmentByItsLink},
	{"TestCancellingAnAppointmentByItsLink", TestCancellingAnAppointmentByItsLink},
	{"TestAVisitorConfirmsFromTheMail", TestAVisitorConfirmsFromTheMail},
	{"TestAVisitorWaitsAndTakesWhatBecomesFree", TestAVisitorWaitsAndTakesWhatBecomesFree},
	{"TestTheBookingPageInsideAnotherSite", TestTheBookingPageInsideAnotherSite},
	{"TestASiteThatIsNotNamedCannotFrameThePage", TestASiteThatIsNotNamedCannotFrameThePage},
	{"TestTheButtonForAChosenTimeIsSeenInAFrame", TestTheButtonForAChosenTimeIsSeenInAFrame},
	{"TestBookingInAFrameWithoutStorage", TestBookingInAFrameWithoutStorage},
	{"TestTheDemoShowsAHoldThrice", TestTheDemoShowsAHoldThrice},

	// The desk.
	{"TestAWholeDeskDayWithTheKeyboardAlone", TestAWholeDeskDayWithTheKeyboardAlone},
	{"TestReceptionBooksInSevenKeys", TestReceptionBooksInSevenKeys},
	{"TestDraggingAndTheMoveDialogAreOne", TestDraggingAndTheMoveDialogAreOne},
	{"TestTheBoardTakesBack", TestTheBoardTakesBack},
	{"TestAGhostAppearsAndVanishes", TestAGhostAppearsAndVanishes},
	{"TestTheDeskIsAccessible", TestTheDeskIsAccessible},
	{"TestASignInThatRunsOutKeepsTheDraft", TestASignInThatRunsOutKeepsTheDraft},
	{"TestTheDeskDecidesRequests", TestTheDeskDecidesRequests},
	{"TestTheLastPlanOpensWithoutAServer", TestTheLastPlanOpensWithoutAServer},

	// An owner.
	{"TestSettingAClinicUp", TestSettingAClinicUp},
	{"TestAnOwnerRunsTheOffice", TestAnOwnerRunsTheOffice},
	{"TestTheQueueWaitsRetriesAndGivesUp", TestTheQueueWaitsRetriesAndGivesUp},
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
