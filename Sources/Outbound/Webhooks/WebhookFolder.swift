import Basics
import Cryptography
import FoundationEssentials
import Glibc
import Settings

/// The folder of the queues: a file for each webhook, named by the digest of its URL, and a lock, so that no two servers
/// use it at the same time.
final class WebhookFolder {
    private let directory: String
    private var lock: Int32 = -1
    /// Why the queues are in memory only, as a sentence.
    private(set) var fault: String?

    init(_ directory: String) {
        self.directory = directory
        try? FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        lock = open(directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if lock < 0 {
            fault = "\(directory) cannot be used: \(String(cString: strerror(errno))) (events.directory)"
        } else if !FileLock.take(lock) {
            fault = "\(directory) belongs to another server that runs now (events.directory)"
        }
    }

    deinit { unlock() }

    /// Lets another server use the folder.
    func unlock() {
        if lock >= 0 { FileLock.release(lock) }
        lock = -1
    }

    /// The file of a webhook; nil where the folder cannot be used.
    func path(of webhook: Webhook) -> String? { fault == nil ? directory + "/" + Self.name(of: webhook) : nil }

    private static let suffix = ".queue"

    private static func name(of webhook: Webhook) -> String {
        Hexadecimal.encode(HashFunction.sha256.digest(Array(webhook.url.utf8)).prefix(8)) + suffix
    }

    /// The files with events of webhooks that the settings do not have any more.
    func orphans(of webhooks: [Webhook]) -> [String] {
        let known = Set(webhooks.map(Self.name))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: directory + "/" + name)
            return name.hasSuffix(Self.suffix) && !known.contains(name) && attributes?[.size] as? Int ?? 0 > 0
        }.sorted()
    }
}
