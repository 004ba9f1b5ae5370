import pytest

for _module in ("contract_files", "contract_changes", "contract_together", "folder_help"):
    pytest.register_assert_rewrite(f"tests.storage_backends.{_module}")
