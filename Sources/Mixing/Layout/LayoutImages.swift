import Basics
package import Codecs

/// Reads the pictures of layouts from a directory, and keeps those that did not change. Reading may wait for a disk and
/// decodes for up to 0.3 s: it belongs on a thread that may block.
package final class LayoutImages: Sendable {
    /// Why a picture cannot be used.
    package struct Fault: Error, Hashable, Sendable {
        var what: String
        var mend: String
    }

    /// nil: there are no pictures.
    private let directory: String?
    private static let mostKnown = 100
    private let known = Guarded<[String: Known]>([:])

    private struct Known {
        /// nil: there was no file.
        var stamp: FileStamp?
        var result: Result<StillImage, Fault>
    }

    package init(directory: String?) {
        self.directory = directory
    }

    /// The picture of a file in the directory.
    package func picture(_ file: String) -> Result<StillImage, Fault> {
        guard let directory else {
            return .failure(Fault(what: "a picture without a directory", mend: "set layouts.directory"))
        }
        let stamp = FileStamp("\(directory)/\(file)")
        if let known = known.withLock({ $0[file] }), known.stamp == stamp { return known.result }
        let result =
            stamp == nil
            ? .failure(
                Fault(what: "there is no file \"\(file)\" beside the layout", mend: "put it into the same directory"))
            : Self.read("\(directory)/\(file)")
        known.withLock { known in
            if known.count >= Self.mostKnown { known.removeAll() }
            known[file] = Known(stamp: stamp, result: result)
        }
        return result
    }

    /// Whether one of the files that were asked for is another one now, or came or went. Those are forgotten.
    func forgetChanged() -> Bool {
        guard let directory else { return false }
        return known.withLock { known in
            let before = known.count
            known = known.filter { FileStamp("\(directory)/\($0.key)") == $0.value.stamp }
            return known.count != before
        }
    }

    private static func read(_ path: String) -> Result<StillImage, Fault> {
        let limits = LayoutImage.limits
        guard let bytes = FileStamp.read(path, most: limits.bytes + 1) else {
            return .failure(Fault(what: "the picture cannot be read", mend: "check its permissions"))
        }
        do throws(StillImage.Fault) {
            return .success(try StillImage(bytes, limits: limits))
        } catch {
            return .failure(
                Fault(
                    what: "\(error)",
                    mend: "use PNG or JPEG of at most \(limits.bytes >> 20) MiB and \(limits.pixels >> 20) megapixels"))
        }
    }
}
