// Command example shows how to use the Go client. It reads a live stream, holds the next free time, books it, and
// cancels the appointment.
//
//	HOLDFAST_URL=http://127.0.0.1:8788 HOLDFAST_KEY=hfk_… go run ./example checkup
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	holdfast "holdfast/clients/go"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("name an appointment type")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, appointmentType string) error {
	c, err := holdfast.Connect(os.Getenv("HOLDFAST_URL"), os.Getenv("HOLDFAST_KEY"), holdfast.NewClientID())
	if err != nil {
		return err
	}
	answer, err := c.HoldStream(ctx, &holdfast.HoldStreamParams{AppointmentTypeId: appointmentType})
	if err != nil {
		return err
	}
	connected, heard := make(chan struct{}), make(chan error, 1)
	go func() {
		for f, err := range holdfast.Frames(answer) {
			if err != nil {
				heard <- err
				return
			}
			switch f.Type {
			case "connected":
				close(connected)
			case "hold", "confirm", "cancel":
				fmt.Println("heard", f.Type)
			}
			if f.Type == "cancel" {
				heard <- nil
				return
			}
		}
		heard <- errors.New("the stream ended")
	}()
	select {
	case <-connected:
	case err := <-heard:
		return err
	}

	free, err := c.NextAvailableWithResponse(ctx, appointmentType, nil)
	if err != nil {
		return err
	}
	if err := holdfast.Refused(free.HTTPResponse, free.Body); err != nil {
		return err
	}
	slot := free.JSON200.Slot
	held, err := c.CreateHoldWithResponse(ctx, &holdfast.CreateHoldParams{IdempotencyKey: holdfast.NewKey()},
		holdfast.CreateHoldJSONRequestBody{AppointmentTypeId: appointmentType, SlotStartDate: slot.Start})
	if err != nil {
		return err
	}
	if err := holdfast.Refused(held.HTTPResponse, held.Body); err != nil {
		return err
	}
	email := "lena@example.org"
	booked, err := c.BookWithResponse(ctx, appointmentType, &holdfast.BookParams{IdempotencyKey: holdfast.NewKey()},
		holdfast.BookJSONRequestBody{HoldId: &held.JSON201.HoldId,
			Patient: holdfast.Patient{Name: "Lena Vogt", Email: &email}})
	if err != nil {
		return err
	}
	if err := holdfast.Refused(booked.HTTPResponse, booked.Body); err != nil {
		return err
	}
	a := booked.JSON201.Appointment
	fmt.Println("booked", a.SlotStartDate)
	reason := "only tried"
	cancelled, err := c.CancelAppointmentWithResponse(ctx, a.Id,
		&holdfast.CancelAppointmentParams{IdempotencyKey: holdfast.NewKey()},
		holdfast.CancelAppointmentJSONRequestBody{Reason: &reason})
	if err != nil {
		return err
	}
	if err := holdfast.Refused(cancelled.HTTPResponse, cancelled.Body); err != nil {
		return err
	}
	return <-heard
}
