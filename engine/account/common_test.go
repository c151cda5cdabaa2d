package account

import (
	"slices"
	"testing"

	"holdfast/engine/record"
)

func TestCommonPasswordsAreRefused(t *testing.T) {
	about := []string{"lena.vogt@clinic.example", "Harbour Clinic Berlin"}
	for password, want := range map[string]bool{
		"password1234": true, "Password2026!": true, "passwordpassword": true, "P@ssw0rd12345": true,
		"123456789012": true, "qwertyuiop123": true, "aaaaaaaaaaaa": true, "abababababab": true, "abcdefghijkl": true,
		"098765432109": true, "qwertzuiopqwertz": true, "1q2w3e4r5t6z": true, "Willkommen2026": true,
		"holdfast12345": true, "Praxis-2026-!!": true, "!!letmein!!!!": true, "iloveyouiloveyou": true,
		"harbour20262026": true, "lena  2026 2026": true, "Harbour Clinic": true, "harbour-clinic-berlin": true,
		"ClinicBerlin2026!": true, "lena.vogt@clinic.example": true, "Lena Vogt 1987": true, "Berlin Harbour": false,
		"contraseña12": true, "Liverpool-1892": true,
		"!Starwars1977": true, "m3talL1ca2024": true, "starwarsstarwars": true, "xxxxNirvana1994": false,
		"Hamburger SV 1887": false, "pass word 1234": true,

		"a few words together": false, "tide and harbour": false, "four words make one": false,
		"correct horse battery": false, "some other words": false, "x7#mQpL0vT9z": false,
		"my dentist has a boat": false, "Grüne Wiese am Fluss": false, "passwordless-harbour": false,
	} {
		var m record.Mistakes
		if checkPassword(&m, password, about...); (m.Err() != nil) != want {
			t.Errorf("%q: got %v, want an error: %t", password, m.Err(), want)
		}
	}
}

// TestCommonPasswordList: the list has its documented length and contains no empty or duplicate words.
func TestCommonPasswordList(t *testing.T) {
	words := wellKnown()
	if len(words) < 12000 || len(triedWords) > 40_000 {
		t.Errorf("got %d words in %d bytes; want 12,000 in at most 40,000", len(words), len(triedWords))
	}
	if len(slices.Compact(slices.Clone(words))) != len(words) || slices.Contains(words, "") {
		t.Error("a word is listed twice, or one is empty")
	}
}
