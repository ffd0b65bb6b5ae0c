export type DeviceKind = 'audioinput' | 'audiooutput';

/** The device that the visitor chose here, by its id; '' = the system's. */
export function chosenDevice(kind: DeviceKind): string {
  try {
    return localStorage.getItem(`parley.${kind}`) ?? '';
  } catch {
    return ''; // storage is blocked
  }
}

/** Remembers it, for later visits as well. */
export function chooseDevice(kind: DeviceKind, id: string): void {
  try {
    if (id === '') localStorage.removeItem(`parley.${kind}`);
    else localStorage.setItem(`parley.${kind}`, id);
  } catch {
    // Storage is blocked: the system's device stays.
  }
}
