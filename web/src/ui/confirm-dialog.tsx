/** Ask before something is done that cannot be undone. */

import type { ComponentChildren } from "preact";
import { Dialog, DialogActions } from "./dialog.js";
import { useSubmission } from "./submission.js";

interface ConfirmProps {
  title: string;
  /** The verb on the button. */
  action: string;
  onClose: () => void;
  onConfirm: () => Promise<void>;
  children: ComponentChildren;
}

export function ConfirmDialog({ title, action, onClose, onConfirm, children }: ConfirmProps) {
  const { isBusy, submit } = useSubmission();
  const confirm = () =>
    submit(async () => {
      onClose(); // what fails is a toast, which can be read then
      await onConfirm();
      return true;
    });
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="dialog-body stack gap-3" onSubmit={(event) => (event.preventDefault(), void confirm())}>
        <p class="text">{children}</p>
        <DialogActions action={action} isDisabled={isBusy} isDanger onCancel={onClose} />
      </form>
    </Dialog>
  );
}
