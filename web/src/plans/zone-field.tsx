/** The time zone of a cron expression. */

import { OWN_ZONE } from "./describe.js";

export function ZoneField({ name, zone }: { name: string; zone: string }) {
  return (
    <label class="label">
      Time zone
      <input class="field" name={name} defaultValue={zone} list="time-zones" required autoComplete="off" spellcheck={false} />
      <datalist id="time-zones">
        {[...new Set(["UTC", OWN_ZONE, ...Intl.supportedValuesOf("timeZone")])].map((other) => (
          <option key={other} value={other} />
        ))}
      </datalist>
    </label>
  );
}
