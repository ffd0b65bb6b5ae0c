import type { SpeechHints } from '../../dist/providers/stt/stt.js';

/** What a restaurant's agent tells the recogniser. */
export const HINTS: SpeechHints = {
  phrases: [
    "I'd like to book a table for {number}",
    'a table for {number} {date} at {time}',
    'I want to make a reservation for {number} people',
    'do you have a table {date}',
    "what's on the menu",
    'do you have vegetarian dishes',
    'is there parking nearby',
    'we would like to sit outside',
    'I am allergic to nuts',
    'cancel my reservation please',
    'the name is {first} {last}',
    'speak to the manager',
  ],
  texts: [
    "You are the friendly front desk of Luigi's, an Italian restaurant. Take bookings: ask for the number of guests, the day, the time and the name. The kitchen is open from 5:30 pm to 10 pm. We have pizza, pasta, risotto, grilled fish and tiramisu. There is a terrace and parking behind the house. Be brief and polite.",
    "Luigi's, good evening! How can I help you?",
    'Book a table: number of guests, day, time, name, phone number, special wishes such as a high chair or a birthday cake.',
  ],
  keywords: new Map([
    ['tiramisu', 3],
    ['bruschetta', 4],
  ]),
};
