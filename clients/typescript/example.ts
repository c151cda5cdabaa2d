// An example of the TypeScript client: it reads the live stream, holds the next free time, books it, and cancels it.
//   npx tsc -p . && HOLDFAST_URL=http://127.0.0.1:8788 HOLDFAST_KEY=hfk_… node built/example.js checkup
import { connect, done, frames, newSecret } from './index.ts'

declare const process: { argv: string[], env: Record<string, string | undefined> }

const server = process.env.HOLDFAST_URL ?? 'http://127.0.0.1:8788', type = process.argv[2] ?? ''
const credentials = { key: process.env.HOLDFAST_KEY, client: newSecret() }
const api = connect(server, credentials)

async function book() {
  const { slot } = await done(api.GET('/v1/appointment-types/{id}/next-available', { params: { path: { id: type } } }))
  const hold = await done(api.POST('/v1/holds', { body: { appointmentTypeId: type, slotStartDate: slot.start }, params: { header: { 'Idempotency-Key': newSecret() } } }))
  const booked = await done(api.POST('/v1/appointment-types/{id}/book', {
    params: { path: { id: type }, header: { 'Idempotency-Key': newSecret() } }, body: { holdId: hold.holdId, patient: { name: 'Lena Vogt', email: 'lena@example.org' } },
  }))
  if (!('appointment' in booked)) throw new Error('the clinic asks for a confirmation first')
  const { appointment } = booked
  console.log('booked', appointment.slotStartDate)
  await done(api.POST('/v1/appointments/{id}/cancel', { params: { path: { id: appointment.id }, header: { 'Idempotency-Key': newSecret() } }, body: { reason: 'only tried' } }))
}

for await (const frame of frames(server, '/v1/holds/stream', { appointmentTypeId: type }, credentials)) {
  if (frame.type === 'connected') await book()
  if (['hold', 'confirm', 'cancel'].includes(frame.type)) console.log('heard', frame.type)
  if (frame.type === 'cancel') break
}
