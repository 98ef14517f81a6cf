// SPDX-License-Identifier: Apache-2.0
/** This is the script of the web's workers, one file, since bundlers copy it without the files beside it. */
import type { Tokenizers } from "../tokenizer/read.js";
import { answerMessages } from "./web-host.js";

answerMessages((address) => import(/* @vite-ignore */ address().href) as Promise<Tokenizers>);
