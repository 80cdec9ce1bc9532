import FoundationEssentials
import Glibc

/// The file of a recording's open delivery (`<id>.pending`), from the recording's begin until the delivery has ended:
/// a crash, at whatever moment, leaves it for the next start.
enum PendingDelivery {
    static let suffix = ".pending"

    /// - Parameter files: the names of the directory's files of this kind.
    static func read(into entry: inout RecordingEntry, from directory: String, _ files: Set<String>) {
        let name = entry.id + suffix
        guard files.contains(name) else {
            // The file was removed by hand, which ends the delivery.
            if entry.delivery?.isOpen ?? false { entry.delivery = nil }
            return
        }
        if let delivery = entry.delivery, !delivery.isOpen {
            // The crash came between the sidecar and the removal of this file.
            unlink(directory + "/" + name)
            return
        }
        entry.delivery = Sidecar.read(RecordingDelivery.self, directory + "/" + name) ?? RecordingDelivery()
    }

    static func write(
        _ delivery: RecordingDelivery, of id: String, _ catalogue: RecordingCatalogue
    ) throws(RecordingError) {
        try Sidecar.write(delivery, to: catalogue.path(id + suffix), catalogue.disk)
    }
}
