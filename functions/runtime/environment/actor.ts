let currentActor: string | undefined;

/** Sets the actor of the audit log. An operator's command calls this before its first change. */
export function actAs(actor: string): void {
  currentActor = actor;
}

/** @throws Error if no actor is set: the audit log must name one for every change */
export function actor(): string {
  if (currentActor === undefined) throw new Error('No actor is set for this change');
  return currentActor;
}
