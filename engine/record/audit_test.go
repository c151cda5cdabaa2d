package record

import "testing"

func TestTheAuditLogSpeaksTheWordsOfTheAPI(t *testing.T) {
	type hours struct{ StartMinute int }
	said, err := InWords(struct {
		ID, SpecialistID string
		HoldTTLSeconds   int
		Hours            []hours
		Named            string `json:"manageUrl"`
	}{ID: "a", SpecialistID: "b", HoldTTLSeconds: 30, Hours: []hours{{540}}, Named: "c"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := rawJSON(said)
	if want := `{"holdTtlSeconds":30,"hours":[{"startMinute":540}],"id":"a","manageUrl":"c","specialistId":"b"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := InWords(nil); got != nil || err != nil {
		t.Errorf("nothing: got %v, %v", got, err)
	}
}
