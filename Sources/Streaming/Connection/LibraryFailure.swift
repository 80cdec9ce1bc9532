import CFFmpeg
import Codecs

/// Runs calls of libavformat that may fail, and says why they did.
enum LibraryFailure {
    /// Returns the code of `body`; throws where it is an error. The text is the library's first error line, without the
    /// URL's credentials.
    @discardableResult
    static func check(_ url: MediaURL, _ body: () -> Int32) throws(StreamingError) -> Int32 {
        let (code, lines) = FFmpegLog.errors(during: body)
        if code >= 0 { return code }
        if code == kAVERROR_EXIT { throw .failed("The server did not answer in time.") }
        let text = url.redacting(lines.first ?? reason(code))
        // GnuTLS's words for a certificate that does not verify, and for one of another host.
        if lines.contains(where: { $0.contains("certificate") }) {
            throw .refused("The certificate of \(url.host) is refused: \(text)")
        }
        throw .failed(text)
    }

    private static func reason(_ code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let base = buffer.baseAddress, av_strerror(code, base, buffer.count) >= 0 else {
                return "error \(code)"
            }
            return String(cString: base)
        }
    }
}
