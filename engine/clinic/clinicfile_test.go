package clinic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestImportKeepsPlacesAndGroupsInUse: importing a clinic file cannot remove a place or a group that is still in use
// after the import.
func TestImportKeepsPlacesAndGroupsInUse(t *testing.T) {
	t.Parallel()
	places := []clinic.Place{{ID: "north", Name: "North"}, {ID: "south", Name: "South"}}
	groups := []clinic.TypeGroup{{ID: "skin", Name: "Skin"}}
	window := func(place string) store.Window { return store.Window{Start: 480, End: 720, Place: place} }
	for _, x := range []struct {
		name string
		file func(*clinic.File)
		want string // the field of the mistake; empty if the import is allowed
	}{
		{"the same settings", func(f *clinic.File) {
			f.Clinic.Settings = &clinic.Settings{Places: places, TypeGroups: groups}
		}, ""},
		{"no settings", func(*clinic.File) {}, ""},
		{"settings without the group", func(f *clinic.File) {
			f.Clinic.Settings = &clinic.Settings{Places: places}
		}, "typeGroups"},
		{"settings without the place of the weekly hours", func(f *clinic.File) {
			f.Clinic.Settings = &clinic.Settings{Places: places[1:], TypeGroups: groups}
		}, "places"},
		{"settings without the place of an override", func(f *clinic.File) {
			f.Clinic.Settings = &clinic.Settings{Places: places[:1], TypeGroups: groups}
		}, "places"},
		{"new hours, override and group in the same file", func(f *clinic.File) {
			f.Clinic.Settings = &clinic.Settings{}
			whole := enginetest.ClinicFile(map[string]int{"ada": 1})
			f.Specialists, f.AppointmentTypes = whole.Specialists, whole.AppointmentTypes
			f.Specialists[0].Overrides = []clinic.OverrideEntry{{Date: store.Date{Year: 2030, Month: 5, Day: 1}, Closed: true}}
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.NewClinic(t, map[string]int{"ada": 1})
			ctx := t.Context()
			if _, err := c.Clinic.UpdateSettings(ctx, enginetest.Jo, func(s *clinic.Settings) {
				s.Places, s.TypeGroups = places, groups
			}); err != nil {
				t.Fatal(err)
			}
			if err := c.Clinic.PutWeeklyHours(ctx, enginetest.Jo, "ada",
				[]store.WeeklyWindow{{Weekday: 1, Window: window("north")}}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Clinic.PutOverride(ctx, enginetest.Jo, store.Override{SpecialistID: "ada",
				Date: store.Date{Year: 2030, Month: 5, Day: 1}, Hours: []store.Window{window("south")}}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, "checkup", func(x *store.AppointmentType) {
				x.Page.Group = "skin"
			}); err != nil {
				t.Fatal(err)
			}
			f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC"}}
			x.file(&f)
			_, planned := c.Clinic.PlanImport(f)
			_, imported := c.Clinic.Import(ctx, "system", f)
			for what, err := range map[string]error{"plan": planned, "import": imported} {
				var invalid *record.ValidationError
				if x.want == "" && err != nil || x.want != "" && (!errors.As(err, &invalid) || invalid.Fields[0].Field != x.want) {
					t.Errorf("%s: got %v, want a mistake in %q", what, err, x.want)
				}
			}
			if _, err := c.Clinic.UpdateSettings(ctx, enginetest.Jo, func(s *clinic.Settings) {
				s.ReminderHours = 24
			}); err != nil {
				t.Errorf("the settings can no longer be changed: %v", err)
			}
		})
	}
}

// TestImportMovesBlock: a file assigns a block to a different specialist. The listing then shows the time of the first
// specialist again.
func TestImportMovesBlock(t *testing.T) {
	t.Parallel()
	who := map[string]int{"ada": 2, "ben": 1}
	c := enginetest.NewClinic(t, who)
	ctx := t.Context()
	// Each of the two specialists has their own type, so that a change to one does not renew the other's list.
	for id, typeID := range map[string]string{"ada": "checkup", "ben": "surgery"} {
		if _, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, typeID, func(x *store.AppointmentType) {
			x.Specialists = []store.Assignment{{SpecialistID: id}}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, typeID := range []string{"class", "cooling"} {
		if err := c.Clinic.ArchiveAppointmentType(ctx, enginetest.Jo, typeID); err != nil {
			t.Fatal(err)
		}
	}
	b := mustBlock(c, "Meeting", c.Start)
	generation := c.Clinic.Generation("checkup")
	if c.Slot(1, "checkup", c.Start, "") != nil {
		t.Fatal("the blocked time is listed")
	}
	f := clinic.File{Specialists: enginetest.ClinicFile(who).Specialists[1:]}
	f.Specialists[0].Blocks = []clinic.BlockEntry{{ID: b.ID, Start: b.Start, End: b.End, Reason: b.Reason}}
	if _, err := c.Clinic.Import(ctx, "system", f); err != nil {
		t.Fatal(err)
	}
	if list, _ := c.Clinic.Blocks("ada"); len(list) != 0 {
		t.Errorf("the first specialist still has %+v", list)
	}
	if list, _ := c.Clinic.Blocks("ben"); len(list) != 1 {
		t.Errorf("the second specialist has %+v, want the block", list)
	}
	if c.Clinic.Generation("checkup") == generation || c.Slot(1, "checkup", c.Start, "") == nil {
		t.Error("the time of the first specialist is not listed again")
	}
	if c.Slot(1, "surgery", c.Start, "") != nil {
		t.Error("the blocked time of the second specialist is listed")
	}
}

// TestImportClearsHoursExportedAsEmpty checks that the file of a specialist without weekly hours clears hours that were
// added after the export, also after its way through JSON.
func TestImportClearsHoursExportedAsEmpty(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	hours := []store.WeeklyWindow{{Weekday: 1, Window: store.Window{Start: 480, End: 720}}}
	if err := c.Clinic.PutWeeklyHours(ctx, enginetest.Jo, "ada", nil); err != nil {
		t.Fatal(err)
	}
	exported, err := json.Marshal(c.Clinic.Export())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Clinic.PutWeeklyHours(ctx, enginetest.Jo, "ada", hours); err != nil {
		t.Fatal(err)
	}
	var f clinic.File
	if err := json.Unmarshal(exported, &f); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Clinic.Import(ctx, enginetest.Jo, f); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Clinic.WeeklyHours("ada"); err != nil || len(got) != 0 {
		t.Errorf("after the import, the hours are %v, %v, want none", got, err)
	}
}
