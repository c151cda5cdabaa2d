package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/holds"
	"holdfast/holds/memory"
)

func Example() {
	ctx := context.Background()
	live := memory.New(memory.Options{})
	defer live.Close()

	nine := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	wish := holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada",
			SlotStart: nine, SlotEnd: nine.Add(30 * time.Minute),
			BusyStart: nine, BusyEnd: nine.Add(40 * time.Minute)}, // ten minutes to tidy up
		Owner: holds.ClientID("a-secret-of-this-browser-tab").Owner(), Seats: []int{0},
		TTL: 30 * time.Second, MaxLife: 15 * time.Minute, Quota: 3,
	}
	hold, err := live.Claim(ctx, wish)
	fmt.Println(hold.SpecialistID, hold.SlotStart.Format("15:04"), err)

	wish.Owner = holds.ClientID("a-secret-of-another-one").Owner()
	wish.SlotStart, wish.SlotEnd = nine.Add(30*time.Minute), nine.Add(time.Hour)
	wish.BusyStart, wish.BusyEnd = wish.SlotStart, wish.SlotEnd
	_, err = live.Claim(ctx, wish)
	var held *holds.HeldError
	fmt.Println(errors.As(err, &held) && held.Until.Equal(hold.ExpiresAt))

	// Output:
	// ada 09:00 <nil>
	// true
}
