import CFFmpeg

/// What FFmpeg says about its failures: often the only place where the reason stands, as for a certificate that is
/// refused.
package enum FFmpegLog {
    /// The most bytes that are kept of one call.
    private static let maxBytes = 2048

    /// Keeps the log off stderr. What uses the library outside of this module calls it first.
    package static func silence() { isSilent }
    /// Evaluated once. Here, since the shim's functions share a variable only within a file.
    private static let isSilent: Void = cffmpeg_silence()

    /// Runs `body`, and returns its result with the errors that FFmpeg reported on this thread meanwhile, one a line.
    /// They may have parts of URLs with credentials in them.
    package static func errors<Result>(during body: () -> Result) -> (result: Result, lines: [String]) {
        silence()
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: maxBytes) { memory in
            memory.initialize(repeating: 0)
            var errors = cffmpeg_errors(text: memory.baseAddress, size: Int32(memory.count), used: 0)
            let result = withUnsafeMutablePointer(to: &errors) { pointer in
                // The thread has no other collector: calls are not nested.
                cffmpeg_collect_errors(pointer)
                defer { cffmpeg_collect_errors(nil) }
                return body()
            }
            let bytes = memory.prefix(Int(errors.used)).map { UInt8(bitPattern: $0) }
            let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            return (result, lines)
        }
    }
}
