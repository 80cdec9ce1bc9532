import Foundation

/// Whether the tests run under a sanitizer (`./scripts/sanitize`), in which code is up to twenty times slower.
let isSanitized = ProcessInfo.processInfo.environment["SANITIZED"] != nil
