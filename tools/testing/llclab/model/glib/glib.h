/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of glib's header, which newer versions of qemu-plugin.h include for these
 * two types. The model uses neither, so that glib need not be installed.
 */
#ifndef LLCLAB_GLIB_H
#define LLCLAB_GLIB_H

typedef struct _GArray GArray;
typedef struct _GByteArray GByteArray;

#endif
