/** Twenty numbers of an area in the United States, less those that are taken. */
export function numbersForSale(area: string, isTaken: (number: string) => boolean, limit: number): string[] {
  const all = Array.from({ length: 20 }, (_, at) => `+1${area}55501${String(at).padStart(2, '0')}`);
  return all.filter((number) => !isTaken(number)).slice(0, limit);
}
