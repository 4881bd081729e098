/** Add a trigger, or change one. The secret of a webhook is shown once. */

import { parseJson, type AddTrigger, type ChangeTrigger, type Scheme, type Trigger } from "@gatepost/client";
import { useState } from "preact/hooks";

import { entities } from "../data/live.js";
import { client } from "../data/session.js";
import { dropKeys } from "../early-keys.js";
import { buildPath, navigate } from "../router.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { SecretDialog } from "../ui/secret-dialog.js";
import { useSubmission } from "../ui/submission.js";
import { formatJson, toLine } from "../ui/text.js";
import { attempt, showToast } from "../ui/toasts.js";
import { PROVIDERS, SCHEMES } from "./describe.js";
import { BotFields, readBot, readSchedule, ScheduleFields } from "./provider-fields.js";

interface TriggerDialogProps {
  /** The trigger to change; without one a trigger is added. */
  trigger?: Trigger;
  /** That of the new one. */
  wanted?: string | undefined;
  onClose: () => void;
  onDone: () => void;
}

const SIGNATURE_HEADERS: Partial<Record<Scheme, string>> = {
  "standard-webhooks": "webhook-signature",
  github: "x-hub-signature-256",
  slack: "x-slack-signature",
  stripe: "stripe-signature",
};
/** Services that give the secret to you. */
const GIVEN_SECRETS: readonly Scheme[] = ["slack", "stripe"];

export function TriggerDialog({ trigger, wanted = "webhook", onClose, onDone }: TriggerDialogProps) {
  const [provider, setProvider] = useState(trigger?.provider ?? wanted);
  const [scheme, setScheme] = useState<Scheme>(trigger?.scheme ?? "header");
  const { isBusy, submit } = useSubmission();
  const [created, setCreated] = useState<{ name: string; scheme: Scheme; secret: string } | undefined>(undefined);
  const save = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const read = (name: string) => String(data.get(name) ?? "").trim();
    const given = read("secret");
    const secret = given === "" && trigger === undefined && provider === "webhook" ? createSecret(scheme) : given;
    const send = async () => {
      const fields = { target: read("target") || null, prompt: read("prompt") || null, session: read("session") || null, ...readProvider(provider, read) };
      if (trigger === undefined) {
        const request: AddTrigger = { ...fields, name: read("name"), provider };
        if (provider === "webhook") Object.assign(request, { scheme, secret });
        await client.addTrigger(request);
      } else {
        const request: ChangeTrigger = { ...fields, name: trigger.name };
        if (provider === "webhook" && (secret !== "" || scheme !== trigger.scheme)) Object.assign(request, { scheme, secret: secret || null });
        await client.changeTrigger(request);
      }
    };
    await submit(async () => {
      if (!(await attempt(send))) return false;
      onDone();
      const name = trigger?.name ?? read("name");
      if (trigger === undefined && provider === "webhook" && given === "") {
        setCreated({ name, scheme, secret });
        dropKeys(); // none of them may close what is shown once
        return true;
      }
      onClose();
      showToast(trigger === undefined ? "Trigger added" : "Trigger changed");
      navigate(buildPath("triggers", name));
      return true;
    });
  };
  if (created !== undefined) {
    const close = () => {
      onClose();
      navigate(buildPath("triggers", created.name));
    };
    const address = `${location.origin}/hooks/${created.name}`;
    const header = writeHeader(created.scheme, created.secret);
    return (
      <SecretDialog
        title="Give this to the service"
        texts={{ Address: address, Secret: created.secret }}
        {...(header === undefined ? {} : { command: `curl ${address} -H '${header}' -H 'content-type: application/json' -d '{"text": "Hello"}'` })}
        note={`${header === undefined ? `The service signs what it sends with the secret, in the header ${SIGNATURE_HEADERS[created.scheme]}. ` : ""}The secret is not shown again.`}
        onClose={close}
      />
    );
  }
  return (
    <Dialog title={trigger === undefined ? "New trigger" : `Change ${toLine(trigger.name, 40)}`} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void save(event.currentTarget))}>
        {trigger === undefined && (
          <div class="field-pair">
            <label class="label">
              Provider
              <select class="field" name="provider" value={provider} onChange={(event) => setProvider(event.currentTarget.value)}>
                {Object.entries(PROVIDERS).map(([name, words]) => (
                  <option key={name} value={name}>
                    {words.name}: {words.what}
                  </option>
                ))}
              </select>
            </label>
            <label class="label">
              Name
              <input class="field" name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]*" title="letters, digits, dots, dashes" maxLength={100} autoComplete="off" autoFocus />
            </label>
          </div>
        )}
        {provider === "cron" && <ScheduleFields trigger={trigger} />}
        {provider === "telegram" && <BotFields trigger={trigger} />}
        {provider === "webhook" && (
          <div class="field-pair">
            <label class="label">
              Authentication
              <select class="field" name="scheme" value={scheme} onChange={(event) => setScheme(event.currentTarget.value as Scheme)}>
                {SCHEMES.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <label class="label">
              Secret
              <input
                class="field"
                name="secret"
                type="password"
                autoComplete="new-password"
                minLength={16}
                required={trigger === undefined ? GIVEN_SECRETS.includes(scheme) : scheme !== trigger.scheme}
                placeholder={trigger !== undefined ? "as it is" : GIVEN_SECRETS.includes(scheme) ? `the one that ${scheme} shows you` : "empty: a new one is made"}
              />
            </label>
          </div>
        )}
        <label class="label">
          To
          <input class="field" name="target" list="trigger-targets" defaultValue={trigger?.target ?? ""} placeholder="Leave empty to use the routing rules" autoComplete="off" />
          <datalist id="trigger-targets">
            {listAddresses().map((address) => (
              <option key={address} value={address} />
            ))}
          </datalist>
        </label>
        <label class="label">
          {provider === "cron" ? "What it says" : "Added to every event as context"}
          <textarea class="field" name="prompt" rows={3} defaultValue={trigger?.prompt ?? ""} />
        </label>
        <label class="label">
          Session
          <input class="field code-field" name="session" defaultValue={trigger?.session ?? ""} placeholder={provider === "cron" ? "day-{{dueAt|date}}" : "pr-{{number}}"} autoComplete="off" spellcheck={false} />
        </label>
        {provider === "webhook" && (
          <label class="label">
            Templates, as JSON
            <textarea
              class="field code-field"
              name="templates"
              rows={4}
              spellcheck={false}
              defaultValue={trigger !== undefined && trigger.templates.length > 0 ? formatJson(trigger.templates) : ""}
              placeholder='[{"match": {"action": "opened"}, "message": "{{sender.login}} opened #{{number}}"}]'
            />
          </label>
        )}
        <DialogActions action={trigger === undefined ? "Add the trigger" : "Save"} isDisabled={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function readProvider(provider: string, read: (name: string) => string): object {
  if (provider === "cron") return readSchedule(read);
  if (provider === "telegram") return readBot(read);
  if (provider !== "webhook") return {};
  const templates = read("templates");
  if (templates === "") return { templates: null };
  try {
    const value = parseJson(templates);
    return { templates: Array.isArray(value) ? value : [value] };
  } catch {
    throw new Error("templates: this is not JSON");
  }
}

/** Return the header with the secret in it; of a scheme that signs there is none. */
function writeHeader(scheme: Scheme, secret: string): string | undefined {
  if (scheme === "header") return `x-secret-key: ${secret}`;
  return scheme === "bearer" ? `authorization: Bearer ${secret}` : undefined;
}

/** Return a secret of 32 random bytes, in the form that its scheme asks for. */
function createSecret(scheme: Scheme): string {
  const text = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  return scheme === "standard-webhooks" ? `whsec_${text}` : text.replaceAll("+", "-").replaceAll("/", "_").replace("=", "");
}

/** Return the agents, people and teams of this gateway. */
export function listAddresses(): string[] {
  const teams = new Set(entities.value.flatMap((entity) => (entity.team === null ? [] : [`team:${entity.team}`])));
  return [...entities.value.filter((entity) => entity.kind !== "service").map((entity) => entity.name), ...teams];
}
