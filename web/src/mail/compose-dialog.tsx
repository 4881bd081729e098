/** Write mail. What was written stays in the tab until it is sent, also after a reload. */

import type { Item } from "@gatepost/client";

import { useDraft } from "../data/drafts.js";
import { displayName } from "../data/live.js";
import { client, me } from "../data/session.js";
import { AddressField } from "../agents/address-field.js";
import { Dialog, DialogActions } from "../ui/dialog.js";
import { useSubmission } from "../ui/submission.js";
import { toLine } from "../ui/text.js";
import { attempt } from "../ui/toasts.js";

interface ComposeProps {
  /** The item that is forwarded. */
  item?: Item;
  onClose: () => void;
  onSent?: () => void;
}

export function ComposeDialog({ item, onClose, onSent }: ComposeProps) {
  const draft = `mail:${item?.eventId ?? "new"}`;
  const [to, setTo] = useDraft(`${draft}:to`);
  const [subject, setSubject] = useDraft(`${draft}:subject`, item === undefined ? "" : `Fwd: ${toLine(item.subject || item.content, 120)}`);
  const [text, setText] = useDraft(`${draft}:text`, item === undefined ? "" : quote(item));
  const { isBusy, submit } = useSubmission();
  const send = () =>
    submit(async () => {
      const isSent = await attempt(
        () => client.sendMail({ to: to.trim(), subject: subject.trim() || null, text, sender: me.value, ...(item?.ref ? { ref: item.ref } : {}) }),
        `Sent to ${toLine(displayName(to.trim()), 60)}`,
      );
      if (isSent) {
        for (const forget of [setTo, setSubject, setText]) forget(undefined);
        onSent?.();
        onClose();
      }
      return isSent;
    });
  return (
    <Dialog title={item === undefined ? "Write mail" : "Forward"} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void send())}>
        <AddressField label="To" value={to} onInput={setTo} />
        <label class="label">
          Subject
          <input class="field" value={subject} autoComplete="off" maxLength={1000} onInput={(event) => setSubject(event.currentTarget.value)} />
        </label>
        <label class="label">
          Text
          <textarea class="field" rows={8} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <DialogActions action="Send" isDisabled={isBusy || to.trim() === "" || text.trim() === ""} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function quote(item: Item): string {
  const lines = item.content.split("\n").map((line) => `> ${line}`);
  return `\n\n${item.senderName ?? item.sender ?? item.source} wrote:\n${lines.join("\n")}`;
}
