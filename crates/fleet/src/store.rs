//! Where a dataset is: a folder of this machine, or a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};

/// So many files are looked for at a time.
const LOOKS: usize = 64;

/// A place with files, by names relative to it.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// All that is there, of which the dataset may be a part.
    whole: Arc<dyn ObjectStore>,
    /// Of the folder; what engines call the files begins so.
    root: String,
    folder: Option<PathBuf>,
}

impl Store {
    /// A folder that is there; or of `s3://BUCKET/PATH` what is in a bucket, which credentials, region and endpoint in the
    /// environment lead to (`AWS_ACCESS_KEY_ID`, ..., `AWS_ENDPOINT`).
    ///
    /// # Errors
    /// If it is none.
    pub fn open(folder: &Path) -> Result<Store> {
        if let Some(url) = folder.to_str().filter(|it| it.starts_with("s3://")) {
            return Store::in_bucket(url).with_context(|| url.to_owned());
        }
        let named = || format!("{}: cannot be opened as a dataset", folder.display());
        ensure!(folder.is_dir(), "{}: there is no dataset (`add` makes one)", folder.display());
        let folder = folder.canonicalize().with_context(named)?;
        let objects = LocalFileSystem::new_with_prefix(&folder).with_context(named)?;
        let root = folder.to_str().context("a dataset's path must be UTF-8").with_context(named)?;
        let objects = Arc::new(objects);
        Ok(Store {
            whole: objects.clone(),
            objects,
            root: format!("{root}/"),
            folder: Some(folder),
        })
    }

    fn in_bucket(url: &str) -> Result<Store> {
        let url = url::Url::parse(url)?;
        let bucket: Arc<dyn ObjectStore> =
            Arc::new(AmazonS3Builder::from_env().with_url(url.as_str()).build()?);
        let prefix = Key::from_url_path(url.path())?;
        ensure!(!prefix.as_ref().is_empty(), "a dataset has a path of its own: s3://BUCKET/PATH");
        let root = format!("{}://{}/{prefix}/", url.scheme(), url.host_str().unwrap_or_default());
        let objects = Arc::new(PrefixStore::new(bucket.clone(), prefix));
        Ok(Store { objects, whole: bucket, root, folder: None })
    }

    /// What [`open`](Self::open) would be given; a folder is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made, or has something else in it.
    pub async fn make(folder: &Path) -> Result<Store> {
        if folder.to_str().is_some_and(|it| it.starts_with("s3://")) {
            let store = Store::open(folder)?;
            let is_ours = store.has_any(Some(crate::log::FOLDER)).await?;
            ensure!(
                is_ours || !store.has_any(None).await?,
                "{}: is neither empty nor a dataset; nothing is changed there",
                folder.display()
            );
            return Ok(store);
        }
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut entries =
            std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let is_ours = folder.join(crate::log::FOLDER).is_dir();
        ensure!(
            is_ours || entries.next().is_none(),
            "{}: is neither empty nor a dataset; nothing is changed there",
            folder.display()
        );
        Store::open(folder)
    }

    /// Memory, for tests: it takes what a bucket takes.
    pub fn in_memory() -> Store {
        let objects = Arc::new(InMemory::new());
        Store { whole: objects.clone(), objects, root: "memory:///".to_owned(), folder: None }
    }

    /// What engines call a file.
    pub fn url(&self, name: &str) -> String {
        format!("{}{name}", self.root)
    }

    /// The folder on this machine, if it is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What engines read it with: files are called by their [`url`](Self::url)s.
    pub fn objects(&self) -> Arc<dyn ObjectStore> {
        self.whole.clone()
    }

    async fn has_any(&self, folder: Option<&str>) -> Result<bool> {
        use futures::StreamExt;
        let folder = folder.map(Key::from);
        let first = self.objects.list(folder.as_ref()).next().await.transpose();
        Ok(first.with_context(|| self.url(""))?.is_some())
    }

    /// The content of a file; nothing if there is none of that name.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.objects.get(&Key::from(name)).await {
            Ok(found) => Ok(Some(found.bytes().await.with_context(|| self.url(name))?.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error).with_context(|| self.url(name)),
        }
    }

    /// The first of these files that is not there.
    ///
    /// # Errors
    /// If that cannot be known.
    pub async fn missing<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Option<&'a str>> {
        use futures::StreamExt;
        let looks = names.map(|name| async move {
            match self.objects.head(&Key::from(name)).await {
                Ok(_) => Ok(None),
                Err(object_store::Error::NotFound { .. }) => Ok(Some(name)),
                Err(error) => Err(error).with_context(|| self.url(name)),
            }
        });
        let mut looks = futures::stream::iter(looks).buffered(LOOKS);
        while let Some(look) = looks.next().await {
            if let Some(name) = look? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Writes a file: afterwards it is there as a whole, or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let written = self.objects.put(&Key::from(name), PutPayload::from(bytes)).await;
        written.map(drop).with_context(|| self.url(name))
    }

    /// Writes a file that nobody has written yet; false if somebody has.
    ///
    /// # Errors
    /// If it cannot be written.
    pub async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool> {
        let payload = PutPayload::from(bytes);
        match self.objects.put_opts(&Key::from(name), payload, PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error).with_context(|| self.url(name)),
        }
    }

    /// Removes a file, which may be gone already.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub async fn remove(&self, name: &str) -> Result<()> {
        match self.objects.delete(&Key::from(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error).with_context(|| self.url(name)),
        }
    }

    /// All files in a folder and in those in it, with their lengths, in the order of their names.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        use futures::TryStreamExt;
        let found = self.objects.list(Some(&Key::from(folder))).try_collect::<Vec<_>>().await;
        let found = found.with_context(|| self.url(folder))?;
        let mut files: Vec<_> =
            found.into_iter().map(|it| (it.location.to_string(), it.size)).collect();
        files.sort();
        Ok(files)
    }
}
