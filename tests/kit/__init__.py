# SPDX-License-Identifier: MIT
"""Test kit: hosts made of network namespaces, see README.md."""
