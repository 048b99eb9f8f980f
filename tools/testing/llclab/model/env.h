/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of the CPU that runs ("env" in QEMU) for a plugin's callback, as an
 * argument after those that QEMU passes. TCG keeps its address in a host register
 * that a callee must leave as it is, so at the entry of a callback that translated
 * code calls it is there. Nothing of the state is read.
 */
#ifndef LLCLAB_ENV_H
#define LLCLAB_ENV_H

#define HIDDEN		__attribute__((visibility("hidden")))

#if defined(__x86_64__)
#define ENV_TO_THIRD	"mov %rbp, %rdx\njmp "
#elif defined(__aarch64__)
#define ENV_TO_THIRD	"mov x2, x19\nb "
#endif

#ifdef ENV_TO_THIRD
#define HAVE_ENV	true
#define WITH_ENV(name)								\
	asm(".text\n.globl " #name "_entry\n.hidden " #name "_entry\n"		\
	    ".type " #name "_entry, STT_FUNC\n"					\
	    #name "_entry:\n" ENV_TO_THIRD #name "_with_env\n");		\
	HIDDEN void name##_entry(unsigned int index, void *udata);		\
	HIDDEN void name##_with_env(unsigned int index, void *udata, const void *env);	\
	void name##_with_env(unsigned int index, void *udata, const void *env)	\
	{									\
		name(index, udata, env);					\
	}
#else
#define HAVE_ENV	false
#define WITH_ENV(name)								\
	static void name##_entry(unsigned int index, void *udata)		\
	{									\
		name(index, udata, NULL);					\
	}
#endif

#endif
